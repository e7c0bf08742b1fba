(* The Boltzmann-Gibbs transform of a law on finitely many atoms: Jensen's inequality for its normaliser, the variance
   under it, and how a mean under it moves when scores and values move.

   Reader's checklist: [tilt w a] has the weights w_j exp(a_j) / sum_k w_k exp(a_k); the claims have densities g > 0,
   here g = exp(a), and no restriction to a set. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Jacobian.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. by case=> [h|->]; [left; apply: exp_increasing | right]. Qed.

Section Tilt.
Variables (I : finType) (w : I -> R).
Hypothesis hw : law w.
Implicit Types (a f g : I -> R).

Definition mass a := mean w (fun j => exp (a j)).
Definition density a j := exp (a j) / mass a.
Definition tilt a j := w j * density a j.

(* Jensen: the normaliser is at least the exponential of the mean score. *)
Lemma jensen a : exp (mean w a) <= mass a.
Proof.
set m := mean w a.
have : mean w (fun j => exp m * (1 + (a j - m))) <= mass a.
  apply: mean_le => // j; have -> : a j = m + (a j - m) by ring.
  rewrite exp_plus; apply: Rmult_le_compat_l; first by left; apply: exp_pos.
  have -> : m + (a j - m) - m = a j - m by ring.
  exact: exp_ineq1_le.
rewrite meanZ meanD (mean_const _ hw) /Rminus meanD -/m (mean_const _ hw).
have -> : 1 + (m + - m) = 1 by ring.
by rewrite Rmult_1_r.
Qed.

Lemma mass_gt0 a : 0 < mass a.
Proof. by apply: Rlt_le_trans (exp_pos _) (jensen a). Qed.

Lemma density_ge0 a j : 0 <= density a j.
Proof. by apply: Rmult_le_pos; left; [apply: exp_pos | apply: Rinv_0_lt_compat; apply: mass_gt0]. Qed.

Lemma tilt_law a : law (tilt a).
Proof.
split=> [j|]; first by apply: Rmult_le_pos; [apply: (proj1 hw) | apply: density_ge0].
have -> : \sum_j tilt a j = mass a * / mass a.
  by rewrite /mass /mean -sumZr; apply: sum_ext => j; rewrite /tilt /density /mass /mean /Rdiv; ring.
by field; have := mass_gt0 a; lra.
Qed.

(* The density at j is at most the exponential of the score there less the mean score. *)
Lemma density_le a j : density a j <= exp (a j - mean w a).
Proof.
rewrite /density /Rminus exp_plus exp_Ropp; apply: Rmult_le_compat_l; first by left; apply: exp_pos.
by apply: Rinv_le_contravar; [apply: exp_pos | apply: jensen].
Qed.

(* A variance under the tilted law is at most e^c times a second moment under the law. *)
Lemma tilt_variance a f c k : (forall j, a j - mean w a <= c) ->
  variance (tilt a) f <= exp c * mean w (fun j => (f j - k) ^ 2).
Proof.
move=> hc; have := second_moment f k (tilt_law a); have := pow2_ge_0 (mean (tilt a) f - k).
suff : mean (tilt a) (fun j => (f j - k) ^ 2) <= exp c * mean w (fun j => (f j - k) ^ 2) by lra.
rewrite /mean -sumZ; apply: sum_le => j; rewrite /tilt.
have d : density a j <= exp c by apply: Rle_trans (density_le a j) (exp_le (hc j)).
have -> : exp c * (w j * (f j - k) ^ 2) = w j * exp c * (f j - k) ^ 2 by ring.
apply: Rmult_le_compat_r; first exact: pow2_ge_0.
by apply: Rmult_le_compat_l; [apply: (proj1 hw) |].
Qed.
End Tilt.

(* d/dt of the mean of f under the tilted law: the mean of f', and the covariance of a' and f.
   Part of: maxent.energy, engine.jacobian. *)
Theorem tilt_derivative (I : finType) (w : I -> R) (a f : R -> I -> R) (a' f' : I -> R) x : law w ->
  (forall j, is_derive (fun t => a t j) x (a' j)) -> (forall j, is_derive (fun t => f t j) x (f' j)) ->
  let p := tilt w (a x) in
  is_derive (fun t => mean (tilt w (a t)) (f t)) x (mean p f' + mean p (fun j => a' j * (f x j - mean p (f x)))).
Proof.
move=> hw ha hf p.
have dZ : is_derive (fun t => mass w (a t)) x (\sum_j (w j * (exp (a x j) * a' j))).
  apply: is_derive_sum => j; apply: is_derive_scal.
  refine (@eq_ind R _ (is_derive _ x) (is_derive_comp exp (fun t => a t j) x _ _ (is_derive_exp _) (ha j)) _ _).
  by rewrite /scal /= /mult /=; ring.
have dM : is_derive (fun t => \sum_j (w j * (exp (a t j) * f t j))) x
    (\sum_j (w j * (exp (a x j) * a' j * f x j + exp (a x j) * f' j))).
  apply: is_derive_sum => j; apply: is_derive_scal.
  have de : is_derive (fun t => exp (a t j)) x (exp (a x j) * a' j).
    refine (@eq_ind R _ (is_derive _ x) (is_derive_comp exp (fun t => a t j) x _ _ (is_derive_exp _) (ha j)) _ _).
    by rewrite /scal /= /mult /=; ring.
  refine (@eq_ind R _ (is_derive _ x) (is_derive_mult _ _ x _ _ de (hf j) Rmult_comm) _ _).
  by rewrite /plus /mult /=; ring.
have m0 := mass_gt0 hw (a x).
have quotient t : mean (tilt w (a t)) (f t) = (\sum_j (w j * (exp (a t j) * f t j))) / mass w (a t).
  by rewrite /mean /Rdiv -sumZr; apply: sum_ext => j; rewrite /tilt /density /Rdiv; ring.
apply: (is_derive_ext (fun t => (\sum_j (w j * (exp (a t j) * f t j))) / mass w (a t))) => [t|];
  first by rewrite quotient.
have dd := is_derive_div _ _ x _ _ dM dZ (Rgt_not_eq _ _ m0).
refine (@eq_ind R _ (is_derive _ x) dd _ _).
set c := mean p (f x).
have -> : mean p f' + mean p (fun j => a' j * (f x j - c)) =
    (\sum_j (w j * (exp (a x j) * a' j * f x j +
      exp (a x j) * f' j)) - c * \sum_j (w j * (exp (a x j) * a' j))) * / mass w (a x).
  rewrite -sumZ -sumB -sumZr -meanD; apply: sum_ext => j; rewrite /p /tilt /density /Rdiv; ring.
rewrite /c /p quotient; set Z := mass _ _; set M := \sum_j (w j * (exp (a x j) * f x j)).
by field; apply: Rgt_not_eq.
Qed.

(* Along a line of scores the mean score grows with the variance.
   Part of: maxent.energy. *)
Theorem tilt_variance_slope (I : finType) (w a : I -> R) x : law w ->
  is_derive (fun t => mean (tilt w (fun j => t * a j)) a) x (variance (tilt w (fun j => x * a j)) a).
Proof.
move=> hw; have ha j : is_derive (fun t => t * a j) x (a j) by auto_derive => //; ring.
have hf j : is_derive (fun _ : R => a j) x 0 by apply: is_derive_const.
refine (@eq_ind R _ (is_derive _ x) (tilt_derivative hw ha hf) _ _).
have hp := tilt_law hw (fun j => x * a j); set p := tilt _ _ in hp *.
rewrite (mean_const 0 hp) variance_raw //; set m := mean p a.
have -> : mean p (fun j => a j * (a j - m)) = mean p (fun j => a j ^ 2 + - m * a j) by apply: mean_ext => j; ring.
by rewrite meanD meanZ -/m; ring.
Qed.

(* Twin: the mean square stands for the variance; one atom.
   Twin of: tilt_derivative, tilt_variance_slope. *)
Theorem not_slope_mean_square : ~ forall (I : finType) (w a : I -> R) x, law w ->
  is_derive (fun t => mean (tilt w (fun j => t * a j)) a) x (mean (tilt w (fun j => x * a j)) (fun j => a j ^ 2)).
Proof.
have one : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite (big_pred1 tt) //; case].
move=> h; have d := h [finType of unit] (fun=> 1) (fun=> 1) 0 one.
have := tilt_variance_slope (fun=> 1) 0 one; have hp := tilt_law one (fun _ : unit => 0 * 1).
move=> d'; have := is_derive_unique _ _ _ d; rewrite (is_derive_unique _ _ _ d').
by rewrite variance_raw // !(mean_const _ hp); lra.
Qed.
