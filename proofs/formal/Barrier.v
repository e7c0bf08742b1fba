(* Functions of time: what falls where it touches a level stays below it, the largest of finitely many functions does
   not rise if none rises that is the largest, and what moves at a speed that falls exponentially has a limit. No claim
   of the suite.

   Reader's checklist: derivatives are two-sided, at 0 also; time runs from 0. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz Classical.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma near f (t l e : R) : is_derive f t l -> 0 < e ->
  exists2 d, 0 < d & forall h, Rabs h < d -> Rabs (f (t + h) - f t - l * h) <= e * Rabs h.
Proof.
move=> /is_derive_Reals df e0; case: (df e e0) => [[d d0] /= hd]; exists d => // h hh.
case: (Req_dec h 0) => [->|n0]; first by rewrite Rplus_0_r !Rmult_0_r Rabs_R0 Rminus_0_r Rminus_eq_0 Rabs_R0; lra.
have := hd h n0 hh; have -> : (f (t + h) - f t) / h - l = (f (t + h) - f t - l * h) * / h by field.
have p := Rabs_pos_lt _ n0; rewrite Rabs_mult Rabs_inv => k.
by apply: (Rmult_le_reg_r (/ Rabs h)); [apply: Rinv_0_lt_compat | rewrite Rmult_assoc Rinv_r; lra].
Qed.

Lemma near_below f (t l M : R) : is_derive f t l -> f t < M -> exists2 d, 0 < d & forall h, Rabs h < d -> f (t + h) < M.
Proof.
move=> df lt; case: (near df Rlt_0_1) => d d0 hd; have l0 := Rabs_pos l.
pose e := (M - f t) / (Rabs l + 1); have e0 : 0 < e by apply: Rdiv_lt_0_compat; lra.
have ee : e * (Rabs l + 1) = M - f t by rewrite /e; field; lra.
exists (Rmin d e) => [|h hm]; first exact: Rmin_pos.
have h1 := Rlt_le_trans _ _ _ hm (Rmin_l _ _); have h2 := Rlt_le_trans _ _ _ hm (Rmin_r _ _).
have := hd h h1 => /Rabs_le_between k; have := Rle_abs (l * h); rewrite Rabs_mult.
by have := Rmult_lt_compat_r (Rabs l + 1) _ _ ltac:(lra) h2; lra.
Qed.

(* Finitely many conditions that hold for small steps hold for small steps together. *)
Lemma common (T : finType) (P : T -> R -> Prop) : (forall a, exists2 d, 0 < d & forall h, 0 < h < d -> P a h) ->
  exists2 d, 0 < d & forall a h, 0 < h < d -> P a h.
Proof.
move=> small; have [a|d hd] := @fin_all_exists T (fun=> R) (fun a d => 0 < d /\ forall h, 0 < h < d -> P a h).
  by case: (small a) => d d0 h; exists d.
case: (pickP (fun _ : T => true)) => [o _|none]; last by exists 1 => [|a]; [lra | have := none a].
have [b hb] := largest (fun a => - d a) (inhabits o); exists (d b) => [|a h h0]; first exact: (proj1 (hd b)).
by apply: (proj2 (hd a)); have := hb a; lra.
Qed.

Section Barrier.
Variable T : finType.
Implicit Types (f g : T -> R -> R) (a b : T) (M t : R).

(* Functions that fall where they touch a level stay below it. *)
Lemma barrier f g M m : 0 <= m -> (forall a t, 0 <= t <= m -> is_derive (f a) t (g a t)) -> (forall a, f a 0 <= M) ->
  (forall t, 0 <= t <= m -> (forall b, f b t <= M) -> forall a, f a t = M -> g a t < 0) -> forall a, f a m <= M.
Proof.
move=> m0 df start fall a0; pose E s := 0 <= s <= m /\ forall u, 0 <= u <= s -> forall a, f a u <= M.
case: (completeness E) => [||s [up least]]; first by exists m => s [h _]; lra.
  by exists 0; split=> [|u hu a]; [lra | have -> : u = 0 by [lra]; exact: start].
have s0 : 0 <= s by apply: up; split=> [|u hu a]; [lra | have -> : u = 0 by [lra]; exact: start].
have sm : s <= m by apply: least => u [h _]; lra.
have below u : 0 <= u < s -> forall a, f a u <= M.
  move=> hu; apply: NNPP => no; suff : s <= u by lra.
  by apply: least => v [hv k]; case: (Rle_dec v u) => // vu; case: no; apply: k; lra.
have at_s a : f a s <= M.
  apply: Rnot_lt_le => gt; case: (Rle_lt_or_eq_dec 0 s s0) => [sp|e]; last first.
    by move: gt; rewrite -e; have := start a; lra.
  have dn : is_derive (fun u => - f a u) s (- g a s) by apply: is_derive_opp; apply: df; lra.
  case: (near_below dn (M := - M)) => [|d d0 hd]; first by lra.
  have h0 := Rmin_pos _ _ d0 sp; have hm := Rmin_l d s; have hs := Rmin_r d s.
  have := hd (- (Rmin d s / 2)); rewrite Rabs_Ropp Rabs_right; last by lra.
  by move=> /(_ ltac:(lra)); have := below (s + - (Rmin d s / 2)) ltac:(lra) a; lra.
case: (Rle_lt_or_eq_dec s m sm) => [lt|<-]; last exact: at_s.
have local a : exists2 d, 0 < d & forall h, 0 < h < d -> f a (s + h) <= M.
  case: (Rle_lt_or_eq_dec _ _ (at_s a)) => [low|touch].
    case: (near_below (df a s (conj s0 sm)) low) => d d0 hd; exists d => // h hh.
    by left; apply: hd; rewrite Rabs_right; lra.
  have g0 : 0 < - g a s by have := fall s (conj s0 sm) at_s a touch; lra.
  case: (near (df a s (conj s0 sm)) g0) => d d0 hd; exists d => // h [h0 hh].
  by have := hd h; rewrite (Rabs_right h) => [/(_ hh) /Rabs_le_between|]; lra.
have [d d0 hd] := common local; pose e := Rmin d (m - s) / 2.
have e0 : 0 < e by rewrite /e; have := Rmin_pos _ _ d0 (Rlt_Rminus _ _ lt); lra.
have em : 2 * e <= d /\ 2 * e <= m - s by have := Rmin_l d (m - s); have := Rmin_r d (m - s); rewrite /e; lra.
suff : s + e <= s by lra.
apply: up; split=> [|u hu a]; first by lra.
case: (Rtotal_order u s) => [us|[->|us]]; [by apply: below; lra | exact: at_s |].
by rewrite (_ : u = s + (u - s)); [apply: hd; lra | ring].
Qed.

(* The largest of functions does not rise if none rises that is the largest, as long as it is less than B. *)
Lemma largest_falls f g M B : M < B -> (forall a t, 0 <= t -> is_derive (f a) t (g a t)) -> (forall a, f a 0 <= M) ->
  (forall a t, 0 <= t -> (forall b, f b t <= f a t) -> f a t < B -> g a t <= 0) ->
  forall t a, 0 <= t -> f a t <= M.
Proof.
move=> MB df start fall t a t0; apply: Rnot_lt_le => gt.
pose e := Rmin (f a t - M) (B - M) / (2 * (1 + t)).
have r0 : 0 < Rmin (f a t - M) (B - M) by apply: Rmin_pos; lra.
have e0 : 0 < e by apply: Rdiv_lt_0_compat; lra.
have ee : e * (1 + t) = Rmin (f a t - M) (B - M) / 2 by rewrite /e; field; lra.
have m1 := Rmin_l (f a t - M) (B - M); have m2 := Rmin_r (f a t - M) (B - M).
suff : f a t - e * (1 + t) <= M by lra.
apply: (@barrier (fun a t => f a t - e * (1 + t)) (fun a t => g a t - e) M t t0) => [b u hu|b|u hu h b touch].
- refine (@eq_ind R _ (is_derive _ u) (is_derive_minus _ _ u _ e (df b u (proj1 hu)) _) _ _); last by [].
  by auto_derive => //; ring.
- by have := start b; lra.
suff : g b u <= 0 by lra.
apply: fall => [|j|]; [lra | by have := h j; lra |].
have := Rmult_le_compat_l e (1 + u) (1 + t) (Rlt_le _ _ e0) ltac:(lra); lra.
Qed.
End Barrier.

Lemma falls (f g : R -> R) s t : 0 <= s <= t -> (forall u, 0 <= u -> is_derive f u (g u)) ->
  (forall u, 0 <= u -> g u <= 0) -> f t <= f s.
Proof.
move=> st df g0; case: (MVT_gen f s t g) => [u|u|u]; rewrite ?Rmin_left ?Rmax_right; try lra.
- by move=> hu; apply: df; lra.
- by move=> hu; apply: derivable_continuous_pt; exists (g u); apply/is_derive_Reals; apply: df; lra.
by move=> [hu e]; have := g0 u ltac:(lra); nra.
Qed.

(* What moves at a speed that falls exponentially has a limit. *)
Lemma settles (f g : R -> R) r C : 0 < r -> 0 <= C -> (forall t, 0 <= t -> is_derive f t (g t)) ->
  (forall t, 0 <= t -> Rabs (g t) <= C * r * exp (- r * t)) ->
  exists p, forall t, 0 <= t -> Rabs (f t - p) <= C * exp (- r * t).
Proof.
move=> r0 C0 df small.
have de t : is_derive (fun t => C * exp (- r * t)) t (- (C * r * exp (- r * t))) by auto_derive => //; ring.
have up s t : 0 <= s <= t -> f t + C * exp (- r * t) <= f s + C * exp (- r * s).
  move=> st; apply: (falls (f := fun t => f t + C * exp (- r * t)) (g := fun t => g t + - (C * r * exp (- r * t))) st).
    by move=> u u0; apply: (is_derive_plus _ _ u _ _ (df u u0) (de u)).
  by move=> u u0; have /Rabs_le_between := small u u0; lra.
have down s t : 0 <= s <= t -> f s - C * exp (- r * s) <= f t - C * exp (- r * t).
  move=> st; suff : - (f t - C * exp (- r * t)) <= - (f s - C * exp (- r * s)) by lra.
  apply: (falls (f := fun t => - (f t - C * exp (- r * t))) (g := fun t => - (g t - - (C * r * exp (- r * t)))) st).
    by move=> u u0; apply: is_derive_opp; apply: (is_derive_minus _ _ u _ _ (df u u0) (de u)).
  by move=> u u0; have /Rabs_le_between := small u u0; lra.
have pos t : 0 <= C * exp (- r * t) by apply: Rmult_le_pos => //; left; apply: exp_pos.
have cross s t : 0 <= s -> 0 <= t -> f s - C * exp (- r * s) <= f t + C * exp (- r * t).
  move=> s0 t0; case: (Rle_dec s t) => st; first by have := down s t ltac:(lra); have := pos t; lra.
  by have := up t s ltac:(lra); have := pos s; lra.
case: (completeness (fun y => exists2 s, 0 <= s & y = f s - C * exp (- r * s))) => [||p [hi least]].
- by exists (f 0 + C * exp (- r * 0)) => _ [s s0 ->]; apply: cross => //; lra.
- by exists (f 0 - C * exp (- r * 0)), 0 => //; lra.
exists p => t t0; apply/Rabs_le_between; have := hi (f t - C * exp (- r * t)) (ex_intro2 _ _ t t0 (erefl _)).
have := least (f t + C * exp (- r * t)) ltac:(by move=> _ [s s0 ->]; apply: cross); lra.
Qed.
