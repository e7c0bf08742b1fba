(* Tokens that move by attention from an open hemisphere: the lowest does not sink, the diameter in the chart falls
   exponentially, and all converge to one point.

   Reader's checklist: [flow x W] are tokens of length one that move along [velocity] of [Simplex] (value matrix the
   identity) at all times t >= 0, with weights that are any functions of time; its derivatives are two-sided, at 0 also,
   where a line may come before; that such a flow exists is not here, but [duo] and [fan] are two. [SA] and [USA] are
   those of [Simplex]; [causal] is softmax under a mask A; [height] and [chart] are those of [Hemisphere]. w has length
   one where a rate has c in it. c is any lower bound of the heights at time 0, D any bound of the distances in the
   chart; distances on the sphere are chords, not arcs. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality Classical.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Softmax Jacobian Barrier Masks Tokens Simplex Hemisphere.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma is_derive_square (K : finType) (z : R -> K -> R) (v : K -> R) t :
  (forall k, is_derive (fun s => z s k) t (v k)) -> is_derive (fun s => dot (z s) (z s)) t (2 * dot (z t) v).
Proof.
move=> h; have -> : 2 * dot (z t) v = \sum_k (v k * z t k + z t k * v k).
  by rewrite /dot -sumZ; apply: sum_ext => k; ring.
by apply: is_derive_sum => k; apply: (is_derive_mult _ _ t _ _ (h k) (h k) Rmult_comm).
Qed.

Lemma coordinate (K : finType) (v : K -> R) k : Rabs (v k) <= norm v.
Proof.
apply: Rsqr_incr_0_var; last exact: norm_ge0.
rewrite /Rsqr -Rabs_mult norm_sq Rabs_right; last by nra.
by apply: (@sum_term K (fun l => v l * v l)) => l; nra.
Qed.

Lemma norm_le_sum (K : finType) (v : K -> R) : norm v <= \sum_k Rabs (v k).
Proof.
have s0 : 0 <= \sum_k Rabs (v k) by apply: sum_ge0 => k; apply: Rabs_pos.
apply: Rsqr_incr_0_var => //; rewrite /Rsqr norm_sq -sumZ; apply: sum_le => k.
have := @sum_term K (fun l => Rabs (v l)) k (fun l => Rabs_pos _); have := Rabs_pos (v k).
have -> : v k * v k = Rabs (v k) * Rabs (v k) by rewrite -Rabs_mult Rabs_right; nra.
by move=> p q; apply: Rmult_le_compat_r.
Qed.

Lemma norm_dist (K : finType) (u v : K -> R) : norm u = 1 -> norm v = 1 ->
  norm (fun k => u k - v k) * norm (fun k => u k - v k) = 2 - 2 * dot u v.
Proof.
move=> hu hv; rewrite norm_sq dotBr !dotBl -!norm_sq hu hv (dotC v); ring.
Qed.

Section Flow.
Variables I K : finType.
Implicit Types (x : R -> I -> K -> R) (W : R -> I -> I -> R) (w : K -> R) (i j k : I) (c r t D : R).

Definition flow x W := forall t, 0 <= t -> forall i,
  norm (x t i) = 1 /\ forall l, is_derive (fun s => x s i l) t (velocity (W t) (x t) i l).

(* The height of a token changes so; where it is lowest it does not sink, and if all are equally high, the bound is
   what it changes by. So no token sinks below the lowest of the start.
   Claim: cone.monotone. *)
Theorem heights_stay x W w c : flow x W -> (forall t i j, 0 <= t -> 0 <= W t i j) -> 0 < c ->
  (forall i, c <= height w (x 0) i) ->
  (forall t i, 0 <= t -> c <= height w (x t) i) /\
  (forall t i, 0 <= t -> let slope := dot (velocity (W t) (x t) i) w in
    let bound := height w (x t) i * \sum_j (W t i j * (1 - dot (x t i) (x t j))) in
    is_derive (fun s => height w (x s) i) t slope /\
    ((forall j, height w (x t) i <= height w (x t) j) -> 0 <= bound <= slope) /\
    ((forall j, height w (x t) i = height w (x t) j) -> slope = bound)).
Proof.
move=> fl W0 c0 start; have dh t i : 0 <= t -> is_derive (fun s => height w (x s) i) t (dot (velocity (W t) (x t) i) w).
  move=> t0; apply: is_derive_sum => l.
  refine (@eq_ind R _ (is_derive _ t) (is_derive_mult _ _ t _ _ (proj2 (fl t t0 i) l) (is_derive_const (w l) t)
    Rmult_comm) _ _).
  by rewrite /plus /mult /zero /=; ring.
have low t i : 0 <= t -> 0 < height w (x t) i -> (forall j, height w (x t) i <= height w (x t) j) ->
    0 <= height w (x t) i * (\sum_j (W t i j * (1 - dot (x t i) (x t j)))) <= dot (velocity (W t) (x t) i) w.
  by move=> t0 pos h; apply: lowest_rises => // j; [apply: (proj1 (fl t t0 j)) | apply: W0].
have stay t i : 0 <= t -> c <= height w (x t) i.
  move=> t0; suff : - height w (x t) i <= - c by lra.
  apply: (@largest_falls I (fun i t => - height w (x t) i) (fun i t => - dot (velocity (W t) (x t) i) w) (- c) 0) => //.
  - by lra.
  - by move=> j s s0; apply: is_derive_opp; apply: dh.
  - by move=> j; have := start j; lra.
  move=> j s s0 h pos; have := low s j s0 ltac:(lra); case=> [l|]; last by lra.
  by have := h l; lra.
split=> // t i t0 slope bound; split; first exact: dh.
split=> [|h]; first by apply: low => //; have := stay t i t0; lra.
have flat v : dot (pull (W t) (x t) i) v = \sum_j (W t i j * dot (x t j) v) := dot_mean (W t i) (x t) v.
rewrite /slope /bound /velocity dotBl dotZl !flat -sumZr -sumZ -sumB; apply: sum_ext => j.
have e : dot (x t j) w = dot (x t i) w := esym (h j).
by rewrite e (dotC (x t j) (x t i)) /height; ring.
Qed.

(* In the chart tokens average each other with weights u; their diameter has an upper derivative of at most minus it
   times what any two rows of u have in common, since it is at most D - h (r D - e) after any small step h, for every
   e > 0; that of two tokens has the derivative minus the sum of what they give each other, times it, which is the same
   where neither is drawn more than the other keeps.
   Claim: cone.chart. *)
Theorem chart_diameter x (W : I -> I -> R) w s : (forall j, 0 < height w (x s) j) -> (forall i j, 0 <= W i j) ->
  (forall i l, is_derive (fun t => x t i l) s (velocity W (x s) i l)) ->
  let u i j := W i j * (height w (x s) j / height w (x s) i) in
  let apart t i k := norm (fun l => chart w (x t) i l - chart w (x t) k l) in
  (forall i l, is_derive (fun t => chart w (x t) i l) s (\sum_j (u i j * (chart w (x s) j l - chart w (x s) i l)))) /\
  (forall r D, (forall i k, r <= \sum_j Rmin (u i j) (u k j)) -> (forall i k, apart s i k <= D) ->
    forall e, 0 < e -> exists2 d, 0 < d &
      forall h, 0 < h < d -> forall i k, apart (s + h) i k <= D - h * (r * D - e)) /\
  (forall i k, i != k -> (forall j, j = i \/ j = k) -> 0 < apart s i k ->
    is_derive (fun t => apart t i k) s (- apart s i k * (u i k + u k i)) /\
    (u i k <= W k k -> u k i <= W i i -> u i k + u k i = \sum_j Rmin (u i j) (u k j))).
Proof.
move=> pos W0 dx u apart; have dc := chart_velocity pos dx; split; first exact: dc.
have u0 i j : 0 <= u i j by apply: Rmult_le_pos => //; left; apply: Rdiv_lt_0_compat.
pose z i k t l := chart w (x t) i l - chart w (x t) k l.
pose v i k l := drawn u (chart w (x s)) i l - drawn u (chart w (x s)) k l.
have dz i k l : is_derive (fun t => z i k t l) s (v i k l) := is_derive_minus _ _ s _ _ (dc i l) (dc k l).
have dn i k : 0 < apart s i k -> is_derive (fun t => apart t i k) s (dot (z i k s) (v i k) / apart s i k).
  move=> a0; have sq : 0 < dot (z i k s) (z i k s) by rewrite -norm_sq; apply: Rmult_lt_0_compat.
  have ds := proj1 (is_derive_Reals _ _ _) (is_derive_square (dz i k)).
  apply/is_derive_Reals; have := derivable_pt_lim_comp _ sqrt s _ _ ds (derivable_pt_lim_sqrt _ sq).
  by rewrite -[sqrt _]/(apart s i k) (_ : / _ * _ = dot (z i k s) (v i k) / apart s i k) //; field; lra.
split=> [r D hr far e e0|i k ne two a0].
  have [d d0 hd] : exists2 d, 0 < d & forall (p : I * I) h, 0 < h < d -> apart (s + h) p.1 p.2 <= D - h * (r * D - e).
    apply: common => -[i k] /=; case: (Rle_lt_or_eq_dec _ _ (far i k)) => [low|top].
      have a0 : 0 <= apart s i k := norm_ge0 _; pose m := (apart s i k + D) / 2.
      have lt : dot (z i k s) (z i k s) < m * m by rewrite -norm_sq -/(apart s i k) /m; nra.
      case: (near_below (is_derive_square (dz i k)) lt) => d1 d10 hd1; have l0 := Rabs_pos (r * D - e).
      pose d2 := (D - m) / (Rabs (r * D - e) + 1); have d20 : 0 < d2 by apply: Rdiv_lt_0_compat; rewrite /m; lra.
      have e2 : d2 * (Rabs (r * D - e) + 1) = D - m by rewrite /d2; field; lra.
      exists (Rmin d1 d2) => [|h [h0 hm]]; first exact: Rmin_pos.
      have h1 := Rlt_le_trans _ _ _ hm (Rmin_l _ _); have h2 := Rlt_le_trans _ _ _ hm (Rmin_r _ _).
      have : apart (s + h) i k <= m.
        apply: Rsqr_incr_0_var; last by rewrite /m; lra.
        by rewrite /Rsqr norm_sq; left; apply: hd1; rewrite Rabs_right; lra.
      have := Rmult_le_compat_l h _ _ (Rlt_le _ _ h0) (Rle_abs (r * D - e)).
      by have := Rmult_lt_compat_r (Rabs (r * D - e) + 1) _ _ ltac:(lra) h2; lra.
    case: (Rle_lt_or_eq_dec 0 (apart s i k) (norm_ge0 _)) => [a0|zero].
      case: (near (dn i k a0) e0) => d d0 hd; exists d => // h [h0 hh].
      have := hd h; rewrite (Rabs_right h) => [/(_ hh) /Rabs_le_between|]; last by lra.
      rewrite top; set l := _ / D; suff : l <= - r * D by have := Rmult_le_compat_l h l (- r * D) (Rlt_le _ _ h0); lra.
      have c : dot (z i k s) (v i k) <= - r * (D * D).
        apply: Rle_trans (@pair_contracts I K u (chart w (x s)) i k _ _ _) _ => // [j m|].
          by rewrite -/(apart s i k) top; apply: far.
        by rewrite -norm_sq -/(apart s i k) top; have := hr i k; rewrite top in a0; nra.
      apply: (Rmult_le_reg_r D); first by lra.
      by have -> : l * D = dot (z i k s) (v i k) by [rewrite /l; field; lra]; lra.
    have same i' k' l : chart w (x s) i' l - chart w (x s) k' l = 0.
      have := coordinate (fun l => chart w (x s) i' l - chart w (x s) k' l) l; have := far i' k'.
      by rewrite /apart => p /Rabs_le_between; lra.
    have still i' l : drawn u (chart w (x s)) i' l = 0 by apply: big1 => j _; rewrite same; ring.
    have n0 := pos_INR #|K|; pose e' := e / (INR #|K| + 1); have e'0 : 0 < e' by apply: Rdiv_lt_0_compat; lra.
    have [d d0 hd] : exists2 d, 0 < d & forall l h, 0 < h < d -> Rabs (z i k (s + h) l) <= e' * h.
      apply: common => l; case: (near (dz i k l) e'0) => d d0 hd; exists d => // h [h0 hh].
      have := hd h; rewrite (Rabs_right h); last by lra.
      by rewrite /v !still {2}/z same !Rminus_0_r Rmult_0_l Rminus_0_r => /(_ hh).
    exists d => // h hh; rewrite -top -zero Rmult_0_r.
    apply: Rle_trans (norm_le_sum _) _; apply: (Rle_trans _ (INR #|K| * (e' * h))).
      by rewrite -sum_const; apply: sum_le => l; apply: hd.
    have : (INR #|K| + 1) * e' = e by rewrite /e'; field; lra.
    by have := Rmult_lt_0_compat _ _ e'0 (proj1 hh); nra.
  by exists d => // h hh i k; apply: (hd (i, k)).
have sums f : \sum_j f j = f i + f k.
  rewrite (bigD1 i) //= (bigD1 k) ?(eq_sym k) //= big1 ?Rplus_0_r // => j /andP [ji jk].
  by case: (two j) ji jk => ->; rewrite eqxx.
have own j : height w (x s) j / height w (x s) j = 1 by field; apply: Rgt_not_eq (pos j).
split=> [|ik ki]; last by rewrite sums Rmin_right /u ?own ?Rmult_1_r // Rmin_left //; ring.
refine (@eq_ind R _ (is_derive _ s) (dn i k a0) _ _).
have -> : dot (z i k s) (v i k) = - (apart s i k * apart s i k) * (u i k + u k i); last by field; lra.
have -> : dot (z i k s) (v i k) = - (u i k + u k i) * dot (z i k s) (z i k s).
  by rewrite /dot -sumZ; apply: sum_ext => l; rewrite /v /drawn !sums /z; ring.
by rewrite -norm_sq -/(apart s i k); ring.
Qed.

(* In the chart the diameter falls as what any two rows have in common.
   Part of: cone.chart. *)
Theorem chart_contracts x W w r D : flow x W -> (forall t i j, 0 <= t -> 0 <= W t i j) ->
  (forall t i, 0 <= t -> 0 < height w (x t) i) -> let u t i j := W t i j * (height w (x t) j / height w (x t) i) in
  (forall t i k, 0 <= t -> r <= \sum_j Rmin (u t i j) (u t k j)) ->
  (forall i k, norm (fun l => chart w (x 0) i l - chart w (x 0) k l) <= D) ->
  forall t i k, 0 <= t -> norm (fun l => chart w (x t) i l - chart w (x t) k l) <= D * exp (- r * t).
Proof.
move=> fl W0 pos u hr start t i k t0.
pose z (p : I * I) s l := chart w (x s) p.1 l - chart w (x s) p.2 l.
pose v (p : I * I) s l := drawn (u s) (chart w (x s)) p.1 l - drawn (u s) (chart w (x s)) p.2 l.
have dz p s l : 0 <= s -> is_derive (fun s => z p s l) s (v p s l).
  move=> s0; have dc := chart_velocity (fun j => pos s j s0) (fun j => proj2 (fl s s0 j)).
  exact: is_derive_minus (dc p.1 l) (dc p.2 l).
have D0 : 0 <= D by apply: Rle_trans (norm_ge0 _) (start i k).
have u0 s j l : 0 <= s -> 0 <= u s j l.
  move=> s0; apply: Rmult_le_pos; first exact: W0.
  by left; apply: Rdiv_lt_0_compat; apply: pos.
pose f p s := exp (2 * r * s) * dot (z p s) (z p s).
have df p s : 0 <= s -> is_derive (f p) s (exp (2 * r * s) * (2 * r * dot (z p s) (z p s) + 2 * dot (z p s) (v p s))).
  move=> s0; have de : is_derive (fun s => exp (2 * r * s)) s (2 * r * exp (2 * r * s)) by auto_derive => //; ring.
  have dd := is_derive_mult _ _ s _ _ de (is_derive_square (fun l => dz p s l s0)) Rmult_comm.
  by refine (@eq_ind R _ (is_derive _ s) dd _ _); rewrite /plus /mult /=; ring.
have f0 p : f p 0 <= D * D.
  rewrite /f Rmult_0_r exp_0 Rmult_1_l -norm_sq; have := start p.1 p.2; have := norm_ge0 (z p 0); rewrite /z; nra.
have top : f (i, k) t <= D * D.
  apply: (largest_falls (M := D * D) (B := D * D + 1) _ df f0) => // [|p s s0 far _]; first by lra.
  have e0 := exp_pos (2 * r * s); suff : dot (z p s) (v p s) <= - r * dot (z p s) (z p s) by nra.
  have g := dot_ge0 (z p s).
  apply: Rle_trans (@pair_contracts I K (u s) (chart w (x s)) p.1 p.2 _ _ _) _ => [j|j|j l|].
  - exact: u0.
  - exact: u0.
  - have := far (j, l); rewrite /f -!norm_sq => h; apply: Rsqr_incr_0; try exact: norm_ge0.
    by apply: (Rmult_le_reg_l (exp (2 * r * s))).
  by have := hr s p.1 p.2 s0; rewrite -/(z p s); nra.
have e0 := exp_pos (- r * t); apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos; lra.
have e1 := exp_pos (2 * r * t); rewrite /Rsqr norm_sq; apply: (Rmult_le_reg_l (exp (2 * r * t))) => //.
have -> : exp (2 * r * t) * (D * exp (- r * t) * (D * exp (- r * t))) = D * D.
  have -> : exp (2 * r * t) * (D * exp (- r * t) * (D * exp (- r * t))) =
    D * D * (exp (2 * r * t) * (exp (- r * t) * exp (- r * t))) by ring.
  by rewrite -!exp_plus (_ : 2 * r * t + (- r * t + - r * t) = 0) ?exp_0; ring.
exact: top.
Qed.

(* Distances in the chart of w fall at the rate r, they are above those of the tokens, and all tokens have one limit. *)
Definition consensus x w r :=
  (forall D, (forall i k, norm (fun l => chart w (x 0) i l - chart w (x 0) k l) <= D) ->
    forall t i k, 0 <= t -> norm (fun l => chart w (x t) i l - chart w (x t) k l) <= D * exp (- r * t)) /\
  (forall t i k, 0 <= t ->
    norm (fun l => x t i l - x t k l) <= norm (fun l => chart w (x t) i l - chart w (x t) k l)) /\
  exists (p : K -> R) (C : R), forall t i l, 0 <= t -> Rabs (x t i l - p l) <= C * exp (- r * t).

Lemma height_le1 (y : I -> K -> R) w i : norm (y i) = 1 -> norm w = 1 -> height w y i <= 1.
Proof. by move=> hy hw; have := cauchy_schwarz (y i) w; rewrite hy hw /height; lra. Qed.

(* The projection to the sphere shortens lengths outside of the ball. *)
Lemma chart_longer (y : I -> K -> R) w i k : norm (y i) = 1 -> norm (y k) = 1 -> norm w = 1 -> 0 < height w y i ->
  0 < height w y k -> norm (fun l => y i l - y k l) <= norm (fun l => chart w y i l - chart w y k l).
Proof.
move=> hi hk hw ai ak; have bi := height_le1 hi hw; have bk := height_le1 hk hw.
have q := cauchy_schwarz (y i) (y k); rewrite hi hk in q.
apply: Rsqr_incr_0; try exact: norm_ge0; rewrite /Rsqr norm_dist // norm_sq dotBr !dotBl.
have scale a b (u v : K -> R) : dot (fun l => u l / a) (fun l => v l / b) = / a * / b * dot u v.
  by rewrite /dot -sumZ; apply: sum_ext => l; rewrite /Rdiv; ring.
rewrite !scale -!norm_sq hi hk (dotC (y k)).
have si : 1 <= / height w y i by rewrite -Rinv_1; apply: Rinv_le_contravar.
have sk : 1 <= / height w y k by rewrite -Rinv_1; apply: Rinv_le_contravar.
set s := / _ in si *; set r := / _ in sk *; set g := dot _ _ in q *.
have := pow2_ge_0 (s - r); have := Rmult_le_pos _ _ (_ : 0 <= 1 - g) (_ : 0 <= s * r - 1); nra.
Qed.

(* Two points of a cap. *)
Lemma cap_overlap (y : I -> K -> R) w c i k : norm (y i) = 1 -> norm (y k) = 1 -> norm w = 1 -> 0 < c ->
  c <= height w y i -> c <= height w y k -> 2 * c ^ 2 - 1 <= dot (y i) (y k).
Proof.
move=> hi hk hw c0 ai ak; pose s := height w y i + height w y k.
have := dot_ge0 (fun l => (y i l + y k l) - s * w l).
have -> : dot (fun l => (y i l + y k l) - s * w l) (fun l => (y i l + y k l) - s * w l) =
    dot (y i) (y i) + dot (y k) (y k) + 2 * dot (y i) (y k) - 2 * s * s + s * s * dot w w.
  have -> : 2 * s * s = 2 * s * \sum_l (y i l * w l + y k l * w l) by rewrite sumD.
  by rewrite /dot -!sumZ -!sumD -sumB -sumD; apply: sum_ext => l; ring.
by rewrite -!norm_sq hi hk hw; have := Rmult_le_compat (2 * c) s (2 * c) s; rewrite /s; nra.
Qed.

(* Weights of which column j is at least [low j]. *)
Lemma rows_share (y : I -> K -> R) (V : I -> I -> R) w c (low : I -> R) i k :
  (forall j, norm (y j) = 1) -> norm w = 1 -> 0 < c -> (forall j, c <= height w y j) ->
  (forall j, 0 <= low j) -> (forall i j, low j <= V i j) ->
  c * (\sum_j low j) <= \sum_j Rmin (V i j * (height w y j / height w y i)) (V k j * (height w y j / height w y k)).
Proof.
move=> hy hw c0 hc low0 hV; rewrite -sumZ; apply: sum_le => j.
have one m : c * low j <= V m j * (height w y j / height w y m).
  rewrite Rmult_comm; apply: Rmult_le_compat => //; first by lra.
  have a1 := height_le1 (hy m) hw; have a0 := hc m; have b0 := hc j.
  apply: (Rmult_le_reg_r (height w y m)); first by lra.
  by rewrite /Rdiv Rmult_assoc Rinv_l; nra.
exact: Rmin_glb.
Qed.

(* A token that others surround moves slowly. *)
Lemma slow (V : I -> I -> R) (y : I -> K -> R) i l S d : (forall j, norm (y j) = 1) -> (forall j, 0 <= V i j) ->
  \sum_j V i j <= S -> (forall j, norm (fun m => y j m - y i m) <= d) -> Rabs (velocity V y i l) <= 2 * S * d.
Proof.
move=> hy V0 hS hd; have d0 : 0 <= d by apply: Rle_trans (norm_ge0 _) (hd i).
have -> : velocity V y i l = \sum_j (V i j * (y j l - dot (y j) (y i) * y i l)).
  rewrite /velocity (_ : dot (pull V y i) (y i) = \sum_j (V i j * dot (y j) (y i))); last exact: dot_mean (V i) y (y i).
  by rewrite -sumZr /pull -sumB; apply: sum_ext => j; ring.
apply: Rle_trans (sum_abs _) _; apply: (Rle_trans _ (\sum_j (2 * d * V i j))); last by rewrite sumZ; nra.
apply: sum_le => j; rewrite Rabs_mult (Rabs_right (V i j)); last by apply: Rle_ge.
rewrite Rmult_comm; apply: Rmult_le_compat_r => //.
have ee := norm_dist (hy j) (hy i); have e0 : 0 <= norm (fun m => y j m - y i m) := norm_ge0 _.
have : - dot (y j) (y i) <= 1.
  have -> : - dot (y j) (y i) = dot (y j) (fun m => -1 * y i m) by rewrite [RHS]dotC dotZl (dotC (y i)); ring.
  apply: Rle_trans (cauchy_schwarz _ _) _; rewrite hy.
  have -> : norm (fun m => -1 * y i m) = norm (y i) by congr sqrt; rewrite dotZl dotC dotZl; ring.
  by rewrite hy; lra.
move=> low; have a := coordinate (fun m => y j m - y i m) l; have b := coordinate (y i) l; rewrite hy in b.
have -> : y j l - dot (y j) (y i) * y i l = (y j l - y i l) + (1 - dot (y j) (y i)) * y i l by ring.
apply: Rle_trans (Rabs_triang _ _) _; rewrite Rabs_mult; have hj := hd j.
have p : 0 <= 1 - dot (y j) (y i) by nra.
rewrite (Rabs_right (1 - _)); last by apply: Rle_ge.
have : 1 - dot (y j) (y i) <= norm (fun m => y j m - y i m) by nra.
by have := Rabs_pos (y i l); nra.
Qed.

(* Weights of which column j is at least [low j], not all zero, and of which no row sums to more than S. *)
Lemma flow_consensus x W w c (low : I -> R) S : inhabited I -> norm w = 1 -> 0 < c ->
  (forall i, c <= height w (x 0) i) -> flow x W -> (forall j, 0 <= low j) -> 0 < \sum_j low j ->
  (forall t i j, 0 <= t -> low j <= W t i j) -> (forall t i, 0 <= t -> \sum_j W t i j <= S) ->
  consensus x w (c * \sum_j low j).
Proof.
move=> [o] hw c0 start fl low0 some hW hS; set r := c * _.
have W0 t i j : 0 <= t -> 0 <= W t i j by move=> t0; apply: Rle_trans (hW t i j t0).
have stay := proj1 (heights_stay fl W0 c0 start).
have pos t i : 0 <= t -> 0 < height w (x t) i by move=> t0; have := stay t i t0; lra.
have share t i k : 0 <= t -> r <= \sum_j Rmin (W t i j * (height w (x t) j / height w (x t) i))
    (W t k j * (height w (x t) j / height w (x t) k)).
  move=> t0; apply: rows_share => // [j|j|l j]; [exact: (proj1 (fl t t0 j)) | exact: stay | exact: hW].
have contracts D := chart_contracts (D := D) fl W0 pos share.
have longer t i k : 0 <= t ->
    norm (fun l => x t i l - x t k l) <= norm (fun l => chart w (x t) i l - chart w (x t) k l).
  move=> t0; apply: chart_longer => //; by [apply: (proj1 (fl t t0 _)) | apply: pos].
split=> //; split=> //.
pose apart (p : I * I) := norm (fun l => chart w (x 0) p.1 l - chart w (x 0) p.2 l).
have [a far] := largest apart (inhabits (o, o)); pose D := apart a; have D0 : 0 <= D := norm_ge0 _.
have near t i k : 0 <= t -> norm (fun l => x t i l - x t k l) <= D * exp (- r * t).
  by move=> t0; apply: Rle_trans (longer t i k t0) (contracts D _ t i k t0) => p q; apply: (far (p, q)).
have r0 : 0 < r by apply: Rmult_lt_0_compat.
have S0 : 0 <= S by apply: Rle_trans (hS 0 o (Rle_refl 0)); apply: sum_ge0 => j; apply: W0; lra.
pose C := 2 * S * D / r; have C0 : 0 <= C.
  by apply: Rmult_le_pos; [apply: Rmult_le_pos; lra | left; apply: Rinv_0_lt_compat].
have [l|p hp] := @fin_all_exists K (fun=> R) (fun l p => forall t, 0 <= t -> Rabs (x t o l - p) <= C * exp (- r * t)).
  apply: (settles (g := fun t => velocity (W t) (x t) o l) r0 C0) => t t0; first exact: (proj2 (fl t t0 o)).
  have -> : C * r * exp (- r * t) = 2 * S * (D * exp (- r * t)) by rewrite /C; field; lra.
  by apply: slow => [j|j||j]; [apply: (proj1 (fl t t0 j)) | apply: W0 | apply: hS | apply: near].
exists p, (D + C) => t i l t0; have -> : x t i l - p l = (x t i l - x t o l) + (x t o l - p l) by ring.
apply: Rle_trans (Rabs_triang _ _) _; rewrite Rmult_plus_distr_r; apply: Rplus_le_compat; last exact: hp.
exact: Rle_trans (coordinate (fun m => x t i m - x t o m) l) (near t i o t0).
Qed.

Definition causal (A : I -> I -> bool) beta (y : I -> K -> R) i := masked (A i) (fun m => beta * dot (y i) (y m)).

Lemma causal_total (A : I -> I -> bool) beta (y : I -> K -> R) i j : A i j ->
  0 < \sum_m (if A i m then exp (beta * dot (y i) (y m)) else 0).
Proof.
move=> Aij; have := @sum_term I (fun m => if A i m then exp (beta * dot (y i) (y m)) else 0) j; rewrite Aij => h.
apply: Rlt_le_trans (exp_pos _) (h _) => m; case: (A i m); [left; exact: exp_pos | lra].
Qed.

(* Softmax of scores between beta (2 c^2 - 1) and beta, on the tokens that A leaves. *)
Lemma causal_low (A : I -> I -> bool) beta c (y : I -> K -> R) i j : 0 <= beta -> (forall k, norm (y k) = 1) ->
  (forall k, 2 * c ^ 2 - 1 <= dot (y i) (y k)) -> A i j ->
  exp (- 2 * beta * (1 - c ^ 2)) / INR #|I| <= causal A beta y i j.
Proof.
move=> b0 hy cap Aij; rewrite /causal /masked Aij.
have n0 : 0 < INR #|I| by apply: lt_0_INR; apply/ltP/card_gt0P; exists j.
set Z := \sum_m _; have Z0 : 0 < Z := causal_total beta y Aij.
have Z1 : Z <= INR #|I| * exp beta.
  rewrite -sum_const; apply: sum_le => m; case: (A i m); last by left; apply: exp_pos.
  have := cauchy_schwarz (y i) (y m); rewrite !hy => q; have : beta * dot (y i) (y m) <= beta by nra.
  by case/Rle_lt_or_eq_dec => [/exp_increasing|->]; lra.
have e : exp (- 2 * beta * (1 - c ^ 2)) * exp beta <= exp (beta * dot (y i) (y j)).
  rewrite -exp_plus; have : - 2 * beta * (1 - c ^ 2) + beta <= beta * dot (y i) (y j) by have := cap j; nra.
  by case/Rle_lt_or_eq_dec => [/exp_increasing|->]; lra.
apply: (Rmult_le_reg_r (INR #|I| * Z)); first exact: Rmult_lt_0_compat.
have -> : exp (- 2 * beta * (1 - c ^ 2)) / INR #|I| * (INR #|I| * Z) = exp (- 2 * beta * (1 - c ^ 2)) * Z by field; lra.
have -> : exp (beta * dot (y i) (y j)) / Z * (INR #|I| * Z) = INR #|I| * exp (beta * dot (y i) (y j)) by field; lra.
have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ (exp_pos (- 2 * beta * (1 - c ^ 2)))) Z1.
by have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ n0) e; lra.
Qed.

Lemma causal_sum (A : I -> I -> bool) beta (y : I -> K -> R) i j : A i j -> \sum_m causal A beta y i m = 1.
Proof.
move=> Aij; rewrite /causal /masked; set Z := \sum_m (if A i m then exp (beta * dot (y i) (y m)) else 0).
have Z0 : 0 < Z := causal_total beta y Aij.
have -> : \sum_m (if A i m then exp (beta * dot (y i) (y m)) / Z else 0) = Z * / Z.
  by rewrite /Z -sumZr; apply: sum_ext => m; case: (A i m); rewrite ?Rmult_0_l.
by field; lra.
Qed.

Lemma causal_ge0 (A : I -> I -> bool) beta (y : I -> K -> R) i j : 0 <= causal A beta y i j.
Proof.
rewrite /causal /masked; case: ifP => [Aij|_]; last by lra.
by apply: Rmult_le_pos; left; [apply: exp_pos | apply: Rinv_0_lt_compat (causal_total beta y Aij)].
Qed.

(* From an open hemisphere tokens come to one point, exponentially, at these rates: of softmax attention, of that
   without normalisation, and of softmax attention under a causal mask, or any that leaves one token to all.
   Claim: cone.consensus. *)
Theorem consensus_from_hemisphere x w c beta : inhabited I -> norm w = 1 -> 0 < c -> 0 <= beta ->
  (forall i, c <= height w (x 0) i) -> let e := exp (- 2 * beta * (1 - c ^ 2)) in
  (flow x (fun t => SA beta (x t)) -> consensus x w (c * e)) /\
  (flow x (fun t => USA beta (x t)) -> consensus x w (c * exp (beta * (2 * c ^ 2 - 1)))) /\
  (forall (A : I -> I -> bool) o, (forall i, A i o) -> flow x (fun t => causal A beta (x t)) ->
    consensus x w (c * (e / INR #|I|))).
Proof.
move=> point hw c0 b0 start e; have [o] := point.
have n0 : 0 < INR #|I| by apply: lt_0_INR; apply/ltP/card_gt0P; exists o.
have flat a : \big[Rplus/0]_(j : I) (a / INR #|I|) = a by rewrite sum_const; field; lra.
have cap W t i j : flow x W -> (forall t i j, 0 <= t -> 0 <= W t i j) -> 0 <= t ->
    2 * c ^ 2 - 1 <= dot (x t i) (x t j).
  move=> fl W0 t0; have stay := proj1 (heights_stay fl W0 c0 start).
  have unit l := proj1 (fl t t0 l); exact: (cap_overlap (unit i) (unit j) hw c0 (stay t i t0) (stay t j t0)).
have a0 : 0 <= e / INR #|I| by apply: Rmult_le_pos; left; [apply: exp_pos | apply: Rinv_0_lt_compat].
have mask (A : I -> I -> bool) k : (forall i, A i k) -> flow x (fun t => causal A beta (x t)) ->
    forall t i j, 0 <= t -> A i j -> e / INR #|I| <= causal A beta (x t) i j.
  move=> Ak fl t i j t0 Aij; apply: causal_low => // l; first exact: (proj1 (fl t t0 l)).
  by apply: (cap _ t i l fl) => // *; apply: causal_ge0.
split=> [fl|]; last split=> [fl|A k Ak fl].
- have fl' : flow x (fun t => causal (fun _ _ => true) beta (x t)) by [].
  rewrite -[e in c * e](flat e); apply: (flow_consensus (S := 1) point hw c0 start fl) => // [|t i j t0|t i t0].
  + by rewrite flat; apply: exp_pos.
  + exact: (mask (fun _ _ => true) o (fun=> isT) fl').
  by have := @causal_sum (fun _ _ => true) beta (x t) i o isT; rewrite /SA => h; right.
- have W0 t i j : 0 <= t -> 0 <= USA beta (x t) i j.
    by move=> _; apply: Rmult_le_pos; left; [apply: exp_pos | apply: Rinv_0_lt_compat].
  have up (a b : R) : a <= b -> exp a <= exp b by case/Rle_lt_or_eq_dec => [/exp_increasing|->]; lra.
  have i0 : 0 <= / INR #|I| by left; apply: Rinv_0_lt_compat.
  rewrite -[exp (beta * _)](flat _).
  apply: (flow_consensus (S := exp beta) point hw c0 start fl) => [j||t i j t0|t i t0].
  + by apply: Rmult_le_pos => //; left; apply: exp_pos.
  + by rewrite flat; apply: exp_pos.
  + by apply: Rmult_le_compat_r => //; apply: up; apply: Rmult_le_compat_l => //; apply: (cap _ t i j fl).
  rewrite -[X in _ <= X](flat (exp beta)); apply: sum_le => j; apply: Rmult_le_compat_r => //; apply: up.
  by have := cauchy_schwarz (x t i) (x t j); rewrite !(proj1 (fl t t0 _)); nra.
pose low j := if j == k then e / INR #|I| else 0.
have lk : \sum_j low j = e / INR #|I| by rewrite /low -big_mkcond big_pred1_eq.
rewrite -lk; apply: (flow_consensus (S := 1) point hw c0 start fl) => [j||t i j t0|t i t0].
- by rewrite /low; case: (j == k); lra.
- by rewrite lk; apply: Rdiv_lt_0_compat => //; apply: exp_pos.
- by rewrite /low; case: eqP => [->|_]; [apply: (mask A k) | apply: causal_ge0].
by right; apply: causal_sum (Ak i).
Qed.
End Flow.

(* Two tokens on the circle that pull each other with weight m: in the chart of the axis between them they come
   together as exp(-2 m t), which is the bound. *)
Definition duo a m t (b c : bool) : R :=
  (if c then 1 else if b then a * exp (- 2 * m * t) else - (a * exp (- 2 * m * t))) *
  / sqrt (1 + (a * exp (- 2 * m * t)) ^ 2).
Definition axis (c : bool) : R := if c then 1 else 0.

Lemma pair_height a m t b : height axis (duo a m t) b = / sqrt (1 + (a * exp (- 2 * m * t)) ^ 2).
Proof. by rewrite /height /dot big_bool /duo /axis /=; ring. Qed.

Theorem pair_flow a m : 0 <= a -> flow (duo a m) (fun _ _ _ => m) /\
  forall t, (forall b, 0 < height axis (duo a m t) b) /\
    norm (fun c => chart axis (duo a m t) true c - chart axis (duo a m t) false c) = 2 * a * exp (- (2 * m) * t).
Proof.
move=> a0; pose u t := a * exp (- 2 * m * t); pose q t := / sqrt (1 + u t ^ 2).
have s0 t : 0 < sqrt (1 + u t ^ 2) by apply: sqrt_lt_R0; have := pow2_ge_0 (u t); lra.
have qq t : q t * q t * (1 + u t ^ 2) = 1.
  have ss : sqrt (1 + u t ^ 2) * sqrt (1 + u t ^ 2) = 1 + u t ^ 2 by apply: sqrt_sqrt; have := pow2_ge_0 (u t); lra.
  by rewrite /q -{3}ss; field; have := s0 t; lra.
have du t : is_derive u t (- 2 * m * u t) by rewrite /u; auto_derive => //; ring.
have dq t : is_derive q t (2 * m * u t ^ 2 * (q t * q t * q t)).
  have dr : is_derive (fun r => / sqrt (1 + r ^ 2)) (u t) (- u t * (q t * q t * q t)).
    auto_derive; first by split; [have := pow2_ge_0 (u t) => /= ?; lra | split=> //; apply: Rgt_not_eq (s0 t)].
    by rewrite -[u t * (u t * 1)]/(u t ^ 2) /q; field; apply: Rgt_not_eq (s0 t).
  refine (@eq_ind R _ (is_derive q t) (is_derive_comp _ u t _ _ dr (du t)) _ _).
  by rewrite /scal /= /mult /=; ring.
split=> [t _ b|t].
  have unit d : dot (duo a m t d) (duo a m t d) = 1.
    by rewrite -[RHS](qq t) /dot big_bool /duo -/(u t) -/(q t); case: d => /=; ring.
  split=> [|c]; first by rewrite /norm unit sqrt_1.
  rewrite /velocity (_ : dot (pull _ (duo a m t) b) (duo a m t b) = 2 * m * (q t * q t)); last first.
    by rewrite /dot /pull !big_bool /duo -/(u t) -/(q t) /=; case: b; ring.
  rewrite /pull big_bool; case: c; rewrite /duo -/(u t) -/(q t).
    refine (@eq_ind R _ (is_derive _ t) (is_derive_scal q t 1 _ (dq t)) _ _).
    rewrite /scal /= /mult /=; apply: Rminus_diag_uniq.
    by transitivity (- 2 * m * q t * (1 - q t * q t * (1 + u t ^ 2))); [ring | rewrite qq; ring].
  have dd v l : is_derive v t (- 2 * m * v t) -> l = - 2 * m * v t * (q t * q t * q t) -> v t * v t = u t * u t ->
      is_derive (fun t => v t * q t) t l.
    move=> dv -> vv; refine (@eq_ind R _ (is_derive _ t) (is_derive_mult v q t _ _ dv (dq t) Rmult_comm) _ _).
    rewrite /plus /mult /=; apply: Rminus_diag_uniq.
    by transitivity (- 2 * m * v t * q t * (1 - q t * q t * (1 + u t ^ 2))); [ring | rewrite qq; ring].
  case: b => /=; first by apply: (dd u); [exact: du | ring | ring].
  apply: (dd (fun t => - u t)); [|ring|ring].
  by refine (@eq_ind R _ (is_derive _ t) (is_derive_opp u t _ (du t)) _ _); rewrite /opp /=; ring.
have h b : height axis (duo a m t) b = q t := pair_height a m t b.
have q0 : 0 < q t by apply: Rinv_0_lt_compat.
split=> [b|]; first by rewrite h.
rewrite /norm /dot big_bool /chart !h /duo -/(u t) -/(q t) /=.
have -> : 2 * a * exp (- (2 * m) * t) = 2 * u t by rewrite /u (_ : - (2 * m) * t = - 2 * m * t); ring.
have u0 : 0 <= 2 * u t by have := Rmult_le_pos _ _ a0 (Rlt_le _ _ (exp_pos (- 2 * m * t))); rewrite /u; lra.
by rewrite -[RHS](sqrt_square _ u0); congr sqrt; field; lra.
Qed.

(* Twin: the rate is not one per cent larger, nor is the fall of the diameter of which it is the integral; two tokens of
   weight one half.
   Twin of: chart_contracts, chart_diameter. *)
Theorem not_chart_faster : ~ forall (I K : finType) (x : R -> I -> K -> R) W w r D, flow x W ->
  (forall t i j, 0 <= t -> 0 <= W t i j) -> (forall t i, 0 <= t -> 0 < height w (x t) i) ->
  (forall t i k, 0 <= t -> r <= \sum_j Rmin (W t i j * (height w (x t) j / height w (x t) i))
    (W t k j * (height w (x t) j / height w (x t) k))) ->
  (forall i k, norm (fun l => chart w (x 0) i l - chart w (x 0) k l) <= D) ->
  forall t i k, 0 <= t -> norm (fun l => chart w (x t) i l - chart w (x t) k l) <= D * exp (- (101 / 100 * r) * t).
Proof.
move=> h; have [fl pos] := pair_flow (a := 1) (/ 2) ltac:(lra).
have := h _ _ _ _ axis 1 2 fl (fun t i j t0 => ltac:(lra)) (fun t i t0 => proj1 (pos t) i).
have far b c : norm (fun l => chart axis (duo 1 (/ 2) 0) b l - chart axis (duo 1 (/ 2) 0) c l) <= 2.
  have e := proj2 (pos 0); rewrite Rmult_0_r exp_0 in e.
  have z (f : bool -> R) : norm (fun l => f l - f l) = 0.
    by rewrite /norm (_ : dot _ _ = 0) ?sqrt_0 // /dot big_bool /=; ring.
  case: b; case: c; rewrite ?z; try lra.
  rewrite (_ : norm _ = norm (fun l => chart axis (duo 1 (/ 2) 0) true l - chart axis (duo 1 (/ 2) 0) false l)).
    by lra.
  by congr sqrt; rewrite /dot !big_bool /=; ring.
move=> /(_ _ far 1 true false ltac:(lra)) k; move: k; rewrite (proj2 (pos 1)) => k.
have : exp (- (101 / 100 * 1) * 1) < exp (- (2 * / 2) * 1) by apply: exp_increasing; lra.
suff : 2 * 1 * exp (- (2 * / 2) * 1) <= 2 * exp (- (101 / 100 * 1) * 1) by lra.
apply: k => t b c t0; rewrite big_bool !pair_height.
have q0 : 0 < / sqrt (1 + (1 * exp (- 2 * / 2 * t)) ^ 2).
  by apply: Rinv_0_lt_compat; apply: sqrt_lt_R0; have := pow2_ge_0 (1 * exp (- 2 * / 2 * t)); lra.
set q := / sqrt _ in q0 *; have -> : q / q = 1 by field; lra.
by rewrite Rmin_left /=; lra.
Qed.

(* Twin: below the plane of w the lowest token sinks; the two tokens seen from the other side.
   Twin of: heights_stay. *)
Theorem not_heights_below : ~ forall (I K : finType) (x : R -> I -> K -> R) W w c, flow x W ->
  (forall t i j, 0 <= t -> 0 <= W t i j) -> (forall i, c <= height w (x 0) i) ->
  forall t i, 0 <= t -> c <= height w (x t) i.
Proof.
move=> h; have [fl _] := pair_flow (a := 1) (/ 2) ltac:(lra); pose w c := - axis c.
have hw t b : height w (duo 1 (/ 2) t) b = - / sqrt (1 + (1 * exp (- 2 * / 2 * t)) ^ 2).
  by rewrite -(pair_height 1 (/ 2) t b) /height /dot !big_bool /w /=; ring.
have := h _ _ _ _ w (- / sqrt 2) fl (fun t i j t0 => ltac:(lra)) _ 1 true ltac:(lra).
rewrite hw; set q := sqrt (1 + _); have e1 : 1 * exp (- 2 * / 2 * 1) < 1.
  by have := exp_increasing (- 2 * / 2 * 1) 0 ltac:(lra); rewrite exp_0; lra.
have e0 := exp_pos (- 2 * / 2 * 1); have q0 : 0 < q by apply: sqrt_lt_R0; nra.
have q2 : q < sqrt 2 by apply: sqrt_lt_1; nra.
have : / sqrt 2 < / q by apply: Rinv_lt_contravar => //; apply: Rmult_lt_0_compat => //; lra.
suff start b : - / sqrt 2 <= height w (duo 1 (/ 2) 0) b by move=> k /(_ start); lra.
by rewrite hw Rmult_0_r exp_0 (_ : 1 + (1 * 1) ^ 2 = 2); [lra | ring].
Qed.

Lemma axis_unit : norm axis = 1.
Proof. by rewrite /norm /dot big_bool /axis /= (_ : 1 * 1 + 0 * 0 = 1) ?sqrt_1 //; ring. Qed.

(* Twin: the rate is not one per cent larger; two tokens near the axis, all scores zero.
   Twin of: consensus_from_hemisphere. *)
Theorem not_consensus_faster : ~ forall (I K : finType) (x : R -> I -> K -> R) w c beta, inhabited I -> norm w = 1 ->
  0 < c -> 0 <= beta -> (forall i, c <= height w (x 0) i) -> flow x (fun t => SA beta (x t)) ->
  consensus x w (101 / 100 * (c * exp (- 2 * beta * (1 - c ^ 2)))).
Proof.
have [fl far] := pair_flow (a := 1 / 10) (/ 2) ltac:(lra); set x := duo (1 / 10) (/ 2) in fl far *.
have half : (fun t => SA 0 (x t)) = (fun _ _ _ => / 2).
  do 3!(apply: functional_extensionality => ?); rewrite /SA /softmax /normaliser big_bool !Rmult_0_l exp_0 /=; lra.
rewrite -half in fl; pose s := sqrt (101 / 100).
have s0 : 0 < s by apply: sqrt_lt_R0; lra.
have ss : s * s = 101 / 100 by apply: sqrt_sqrt; lra.
have h b : height axis (x 0) b = / s.
  by rewrite /x pair_height Rmult_0_r exp_0; congr (/ sqrt _); lra.
have c0 : 0 < / s by apply: Rinv_0_lt_compat.
move=> /(_ _ _ x axis (/ s) 0 (inhabits true) axis_unit c0 (Rle_refl 0)) k.
have [|con _] := k _ fl; first by move=> b; rewrite h; lra.
have e := proj2 (far 0); have e1 := proj2 (far 1); rewrite Rmult_0_r exp_0 in e.
have := con (2 * (1 / 10)) _ 1 true false ltac:(lra); rewrite e1 => {}k.
have {}k : 2 * (1 / 10) * exp (- (2 * / 2) * 1) <=
    2 * (1 / 10) * exp (- (101 / 100 * (/ s * exp (- 2 * 0 * (1 - (/ s) ^ 2)))) * 1).
  apply: k => b c; have z (f : bool -> R) : norm (fun l => f l - f l) = 0.
    by rewrite /norm (_ : dot _ _ = 0) ?sqrt_0 // /dot big_bool /=; ring.
  case: b; case: c; rewrite ?z; try lra.
  rewrite (_ : norm _ = norm (fun l => chart axis (x 0) true l - chart axis (x 0) false l)); first by lra.
  by congr sqrt; rewrite /dot !big_bool /=; ring.
have : exp (- (101 / 100 * (/ s * exp (- 2 * 0 * (1 - (/ s) ^ 2)))) * 1) < exp (- (2 * / 2) * 1).
  apply: exp_increasing; rewrite Rmult_0_r Rmult_0_l exp_0.
  by have : 101 / 100 * / s = s by [rewrite -ss; field; lra]; nra.
by lra.
Qed.

(* Two tokens of which the first, on the axis, sees itself alone. *)
Definition fan t (b c : bool) : R := let v := / 2 * exp (- t / 2) in
  if b then axis c else if c then (1 - v ^ 2) / (1 + v ^ 2) else 2 * v / (1 + v ^ 2).

(* Twin: under a causal mask the rate is divided by the number of tokens, which are those two.
   Twin of: consensus_from_hemisphere. *)
Theorem not_consensus_causal : ~ forall (I K : finType) (x : R -> I -> K -> R) w c beta (A : I -> I -> bool) o,
  norm w = 1 -> 0 < c -> 0 <= beta -> (forall i, c <= height w (x 0) i) -> (forall i, A i o) ->
  flow x (fun t => causal A beta (x t)) -> consensus x w (c * exp (- 2 * beta * (1 - c ^ 2))).
Proof.
pose A (b c : bool) := ~~ b || c; pose v t := / 2 * exp (- t / 2).
have p t : 0 < 1 + v t ^ 2 by have := pow2_ge_0 (v t); lra.
have dv t : is_derive v t (- v t / 2) by rewrite /v; auto_derive => //; rewrite /Rdiv; field.
have fl : flow fan (fun t => causal A 0 (fan t)).
  have wt t c : causal A 0 (fan t) true c = if c then 1 else 0.
    by rewrite /causal /masked big_bool /A /= !Rmult_0_l exp_0; case: c => //; field.
  have wf t c : causal A 0 (fan t) false c = / 2.
    by rewrite /causal /masked big_bool /A /= !Rmult_0_l exp_0; field.
  move=> t _ b; split.
    rewrite /norm /dot big_bool; case: b; rewrite /fan -/(v t) /=.
      by rewrite /axis (_ : 1 * 1 + 0 * 0 = 1) ?sqrt_1 //; ring.
    rewrite -[RHS]sqrt_1; congr sqrt; rewrite -[v t * (v t * 1)]/(v t ^ 2); field; have := p t; lra.
  move=> c; rewrite /velocity /pull /dot !big_bool; case: b; rewrite ?wt ?wf /fan -/(v t).
    refine (@eq_ind R _ (is_derive _ t) (is_derive_const (axis c) t) _ _).
    by rewrite /zero /= /axis; case: c; ring.
  have comp f (l d : R) : is_derive f (v t) d -> l = d * (- v t / 2) -> is_derive (fun t => f (v t)) t l.
    move=> df ->; refine (@eq_ind R _ (is_derive _ t) (is_derive_comp f v t _ _ df (dv t)) _ _).
    by rewrite /scal /= /mult /=; ring.
  have ne : 1 + v t * (v t * 1) <> 0 by have := p t => /= ?; lra.
  case: c => /=.
    apply: (comp (fun r => (1 - r ^ 2) / (1 + r ^ 2)) _ (- 4 * v t / (1 + v t ^ 2) ^ 2)).
      by auto_derive => //; field.
    by rewrite /axis; field.
  apply: (comp (fun r => 2 * r / (1 + r ^ 2)) _ (2 * (1 - v t ^ 2) / (1 + v t ^ 2) ^ 2)).
    by auto_derive => //; field.
  by rewrite /axis; field.
have v0 : v 0 = / 2 by rewrite /v (_ : - 0 / 2 = 0) ?exp_0; lra.
have h t b : height axis (fan t) b = if b then 1 else (1 - v t ^ 2) / (1 + v t ^ 2).
  by rewrite /height /dot big_bool /fan -/(v t) /axis; case: b => /=; ring.
move=> /(_ _ _ fan axis (3 / 5) 0 A true axis_unit ltac:(lra) (Rle_refl 0)) k.
have [||con _] := k _ _ fl; [by move=> b; rewrite h v0; case: b; lra | by case | clear k].
have e0 (f : bool -> R) : norm (fun l => f l - f l) = 0.
  by rewrite /norm (_ : dot _ _ = 0) ?sqrt_0 // /dot big_bool /=; ring.
have pos t : 0 < v t by apply: Rmult_lt_0_compat; [lra | apply: exp_pos].
have far t b : v t < 1 ->
    norm (fun c => chart axis (fan t) b c - chart axis (fan t) (~~ b) c) = 2 * v t / (1 - v t ^ 2).
  move=> v1; have v2 : 0 < 1 - v t ^ 2 by have := pos t; nra.
  have q0 : 0 <= 2 * v t / (1 - v t ^ 2) by left; apply: Rdiv_lt_0_compat => //; have := pos t; lra.
  rewrite -[RHS](sqrt_square _ q0) /norm /dot big_bool /chart !h /fan -/(v t) /axis; congr sqrt.
  by have := p t; case: b => /= ?; field; lra.
have := con (4 / 3) _ 10 true false ltac:(lra); rewrite Rmult_0_r Rmult_0_l exp_0 => k.
have v10 : v 10 = / 2 * exp (- 5) by rewrite /v; congr (_ * exp _); lra.
have small : exp (- 5) < 1 by rewrite -exp_0; apply: exp_increasing; lra.
have := pos 10; have {}k : 2 * v 10 / (1 - v 10 ^ 2) <= 4 / 3 * exp (- (3 / 5 * 1) * 10).
  rewrite -(far 10 true); last by lra.
  apply: k => b c; case: (eqVneq b c) => [->|]; first by rewrite e0; lra.
  by case: b; case: c => // _; rewrite ?(far 0 true) ?(far 0 false) v0; lra.
move: k; rewrite (_ : - (3 / 5 * 1) * 10 = - 5 + - 1); last by lra.
rewrite exp_plus => k v0'; have e1 := exp_ineq1 1 ltac:(lra); have i1 : exp (- 1) * exp 1 = 1.
  by rewrite -exp_plus (_ : - 1 + 1 = 0) ?exp_0; lra.
have e5 := exp_pos (- 5).
have : 2 * v 10 <= 2 * v 10 / (1 - v 10 ^ 2).
  have v2 : 0 < 1 - v 10 ^ 2 by nra.
  apply: (Rmult_le_reg_r (1 - v 10 ^ 2)) => //.
  have -> : 2 * v 10 / (1 - v 10 ^ 2) * (1 - v 10 ^ 2) = 2 * v 10 by field; lra.
  by nra.
have m1 : exp (- 1) < / 2 by nra.
by nra.
Qed.
