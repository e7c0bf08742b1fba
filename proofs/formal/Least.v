(* The constant e^(2a) (1 + 2a) is the least in every dimension from one on: for every smaller c there are two laws of
   two atoms on an axis that refute it.

   Reader's checklist: the witness is that of the claim lipschitz.joint-witness, on the axis [o] of a space with any
   axes; the claim also gives the factor 1 - 2 eps E that two atoms reach, which is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Euclid Tilt Transport SharpW1 Sharp.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma sum_unit (f : unit -> R) : \sum_k f k = f tt.
Proof. by rewrite (big_pred1 tt) //; case. Qed.

Lemma sum_bool (f : bool -> R) : \sum_b f b = f true + f false.
Proof. by rewrite big_bool. Qed.

Lemma norm_unit (u : unit -> R) : norm u = Rabs (u tt).
Proof. by rewrite /norm /dot sum_unit; exact: sqrt_Rsqr_abs. Qed.

(* A sum of one term, and the norm on an axis. *)
Lemma sum_axis (K : finType) (o : K) (f : K -> R) : (forall k, k != o -> f k = 0) -> \sum_k f k = f o.
Proof. by move=> h; rewrite (bigD1 o) //= big1; [ring | move=> k ne; apply: h]. Qed.

Lemma norm_axis (K : finType) (o : K) (u : K -> R) : (forall k, k != o -> u k = 0) -> norm u = Rabs (u o).
Proof.
by move=> h; rewrite /norm /dot (sum_axis (o := o)); [exact: sqrt_Rsqr_abs | move=> k /h ->; ring].
Qed.

Lemma axis_le (K : finType) (o : K) (u : K -> R) : Rabs (u o) <= norm u.
Proof.
rewrite -(sqrt_Rsqr_abs (u o)); apply: sqrt_le_1_alt; apply: (sum_term (f := fun k => u k * u k)) => k.
exact: Rle_0_sqr.
Qed.

Section Witness.
Variables (K : finType) (o : K).
Variables a eps h : R.
Hypothesis a0 : 0 <= a.
Hypothesis he : 0 < eps < 1.
Hypothesis hh : 0 < h < 1.

Definition line (k l : K) := if (k == o) && (l == o) then - a else 0.
Definition masses (b : bool) := if b then 1 - eps else eps.
Definition places (s : R) (b : bool) (k : K) := if k == o then if b then 1 else -1 + s else 0.

Lemma masses_law : law masses.
Proof. by split=> [[]|]; rewrite ?big_bool /=; lra. Qed.

Lemma line_T u l : T line u l = if l == o then - a * u o else 0.
Proof.
rewrite /T (sum_axis (o := o)) /line ?eqxx /=; first by case: (l == o); ring.
by move=> k /negbTE -> /=; ring.
Qed.

Lemma line_norm u : norm (T line u) <= a * norm u.
Proof.
have -> : norm (T line u) = Rabs (T line u o) by apply: norm_axis => k /negbTE e; rewrite line_T e.
by rewrite line_T eqxx Rabs_mult Rabs_Ropp Rabs_pos_eq //; apply: Rmult_le_compat_l => //; apply: axis_le.
Qed.

Definition axis (x : R) (k : K) := if k == o then x else 0.

Lemma output_line s x k : output line masses (places s) (axis x) k = axis (out a eps x s) k.
Proof.
rewrite /axis; case ko : (k == o); last first.
  by rewrite /output /centre /mean big1 // => b _; rewrite /places ko; ring.
have {ko} -> : k = o by apply/eqP.
have f b : form line (axis x) (places s b) = - a * x * places s b o.
  by rewrite /form /dot (sum_axis (o := o)) => [|l /negbTE e]; rewrite line_T ?e /axis ?eqxx //; ring.
have lp : 0 < heavy a eps x by apply: Rmult_lt_0_compat; [lra | apply: exp_pos].
have lq : 0 < light a eps x s by apply: Rmult_lt_0_compat; [lra | apply: exp_pos].
rewrite /output /centre /seen /mean sum_bool /tilt /density /mass /mean sum_bool !f /places eqxx /masses /out.
have -> : exp (- a * x * 1) = exp (- a * x) by congr exp; ring.
by move: lp lq; rewrite /heavy /light => lp lq; field; lra.
Qed.

Lemma places_axis s b : places s b = axis (if b then 1 else -1 + s).
Proof. by []. Qed.

Lemma total_line s : mean masses (fun b => output line masses (places s) (places s b) o) = total a eps s.
Proof. by rewrite /mean sum_bool /total !places_axis !output_line /axis eqxx. Qed.

Lemma identity_coupling : coupling masses masses (fun b d => if d == b then masses b else 0).
Proof.
split; [|split] => [b d|b|d].
- by case: eqP => _; [apply: (proj1 masses_law) | lra].
- by rewrite -big_mkcond big_pred1_eq.
by rewrite -big_mkcond (big_pred1 d) // => b; rewrite eq_sym.
Qed.

Lemma before_le w : W1 (fun b d => norm (minus (places 0 b) (places h d))) masses masses w -> w <= eps * h.
Proof.
case=> lower _; apply: (Rle_trans _ _ _ (lower _ identity_coupling)); right.
have n b d : norm (minus (places 0 b) (places h d)) = Rabs (places 0 b o - places h d o).
  by rewrite (norm_axis (o := o)) // => k /negbTE e; rewrite /minus /places e; ring.
rewrite /cost !sum_bool /= !n /places eqxx.
have -> : 1 - 1 = 0 by ring.
have -> : -1 + 0 - (-1 + h) = - h by ring.
by rewrite Rabs_R0 Rabs_Ropp (Rabs_pos_eq h); [ring | lra].
Qed.

Lemma after_ge w : W1 (fun b d => norm (minus (output line masses (places 0) (places 0 b))
  (output line masses (places h) (places h d))))
  masses masses w -> total a eps h - total a eps 0 <= w.
Proof.
case=> _ greatest; rewrite -!total_line.
set F := fun b => output line masses (places 0) (places 0 b);
  set G := fun d => output line masses (places h) (places h d).
have -> : mean masses (fun b => G b o) - mean masses (fun b => F b o) =
    dual masses masses (fun b => - F b o) (fun d => G d o).
  rewrite /dual; have -> : mean masses (fun b => - F b o) = -1 * mean masses (fun b => F b o).
    by rewrite -meanZ; apply: mean_ext => b; ring.
  by ring.
apply: greatest => g hg; apply: weak_duality => // b d.
rewrite -/(F b) -/(G d); have := axis_le o (minus (F b) (G d)); rewrite /minus Rabs_minus_sym.
by have := Rle_abs (G d o - F b o); lra.
Qed.
End Witness.

(* Part of: lipschitz.sharp-w1, lipschitz.joint-witness. *)
Theorem attention_W1_least (K : finType) (a c : R) : inhabited K -> 0 <= a -> c < exp (2 * a) * (1 + 2 * a) ->
  exists (I J : finType) (B : K -> K -> R) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    (forall u, norm (T B u) <= a * norm u) /\ law p /\ law q /\ (forall i, norm (x i) <= 1) /\
      (forall j, norm (y j) <= 1) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after /\
    c * before < after.
Proof.
move=> [o] a0 hc; have pE : 0 < exp (2 * a) * (1 + 2 * a) by apply: Rmult_lt_0_compat; [apply: exp_pos | lra].
have hc' : Rmax c 0 < exp (2 * a) * (1 + 2 * a) by apply: Rmax_lub_lt.
case: (no_less a (Rmax c 0) a0 hc') => eps [h [he [hh gap]]].
have lw := masses_law he.
case: (W1_exists (C := fun b d => norm (minus (places o 0 b) (places o h d))) lw lw) => [b d|before hb];
  first exact: norm_ge0.
case: (W1_exists (C := fun b d => norm (minus (output (line o a) (masses eps) (places o 0) (places o 0 b))
  (output (line o a) (masses eps) (places o h) (places o h d)))) lw lw) => [b d|after hf]; first exact: norm_ge0.
exists [finType of bool], [finType of bool], (line o a), (masses eps), (masses eps), (places o 0), (places o h), before,
  after.
have ball s b : 0 <= s < 1 -> norm (places o s b) <= 1.
  move=> hs; rewrite (norm_axis (o := o)) /places ?eqxx => [|k /negbTE -> //].
  by apply: Rabs_le; case: b; lra.
do 5! (split; first by try exact: line_norm; try exact: lw; move=> b; apply: ball; lra).
split=> //; split=> //.
have l1 := before_le he hh hb; have l2 := after_ge he hf.
have b0 : 0 <= before.
  by apply: (proj2 hb) => g hg; apply: sum_ge0 => b; apply: sum_ge0 => d; apply: Rmult_le_pos;
    [apply: (proj1 hg) | apply: norm_ge0].
have m0 := Rmax_r c 0; have m1 := Rmax_l c 0.
apply: (Rle_lt_trans _ (Rmax c 0 * before)); first exact: Rmult_le_compat_r.
apply: (Rle_lt_trans _ (Rmax c 0 * (eps * h))); first exact: Rmult_le_compat_l.
by lra.
Qed.

(* Twin: in the plane, as on the line, (1 + 2a) exp(a) is no constant; a = 1. *)
Theorem not_single_exponent : ~ forall (I J : finType) (B : bool -> bool -> R) (p : I -> R) (q : J -> R)
    (x : I -> bool -> R) (y : J -> bool -> R) before after,
  (forall u, norm (T B u) <= 1 * norm u) -> law p -> law q -> (forall i, norm (x i) <= 1) ->
  (forall j, norm (y j) <= 1) -> W1 (fun i j => norm (minus (x i) (y j))) p q before ->
  W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after ->
  after <= exp 1 * (1 + 2 * 1) * before.
Proof.
have point : inhabited [finType of bool] by constructor; exact: true.
have lt : exp 1 * (1 + 2 * 1) < exp (2 * 1) * (1 + 2 * 1).
  by apply: Rmult_lt_compat_r; [lra | apply: exp_increasing; lra].
case: (attention_W1_least (a := 1) point _ lt) => [|I [J [B [p [q [x [y [before [after hyp]]]]]]]] h]; first by lra.
case: hyp => hB [hp [hq [hx [hy [hb [ha gap]]]]]].
by have := h I J B p q x y before after hB hp hq hx hy hb ha; lra.
Qed.
