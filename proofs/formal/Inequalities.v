(* The two inequalities of the sharp W_1 constant (docstring of sharp_w1_constant). E = exp(2a).

   Reader's checklist: [Q] is that of the claim lipschitz.sharp-w1, letter by letter; this file knows no law and no
   attention. *)
Set Warnings "-ambiguous-paths".
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import IntervalStd.
Open Scope R_scope.

Definition E (a : R) := exp (2 * a).
Definition Q (a t : R) := E a * (1 - (2 - t) * ((E a + 1) / 2))
  + (E a * (1 - a * t / 2) + 2 - t) * (1 + 2 * a - a * t + a * t * ((E a - 1) / 2) * (2 - t)).

(* Part of: lipschitz.sharp-w1. *)
Theorem Q_positive (a t : R) : 0 <= a <= 6 / 10 -> 0 <= t <= 1 -> 0 < Q a t.
Proof. intros ha ht; unfold Q, E; interval with (i_prec 30, i_bisect a, i_bisect t, i_taylor a, i_depth 30). Qed.

Lemma one_minus_exp (s : R) : 0 <= s -> s / (1 + s) <= 1 - exp (- s).
Proof.
  intros h; rewrite exp_Ropp; assert (g := exp_ineq1_le s).
  assert (/ exp s <= / (1 + s)) by (apply Rinv_le_contravar; lra).
  replace (s / (1 + s)) with (1 - / (1 + s)) by (field; lra); lra.
Qed.

Lemma a_over_E (a : R) : 6 / 10 <= a -> a <= E a * (2 * a - 1).
Proof.
  intros h; unfold E; destruct (Rle_dec a 1) as [l|l]; [|].
  - enough (0 < exp (2 * a) * (2 * a - 1) - a) by lra; interval with (i_prec 30, i_bisect a, i_taylor a, i_depth 20).
  - assert (g := exp_ineq1_le (2 * a)); nra.
Qed.

(* The step for a >= 0.6. *)
Lemma large_forms (a t : R) : 6 / 10 <= a -> 0 <= t <= 1 ->
  a * Rmin 1 (E a * (t * (2 - t))) <= E a * (1 + 2 * a) * (1 - exp (- (a * t))).
Proof.
  intros ha ht; assert (hE := exp_pos (2 * a)); fold (E a) in hE; assert (hat : 0 <= a * t) by nra.
  assert (low := one_minus_exp (a * t) hat).
  apply Rle_trans with (E a * (1 + 2 * a) * (a * t / (1 + a * t))); [|apply Rmult_le_compat_l; nra].
  apply Rmult_le_reg_r with (1 + a * t); [lra|].
  replace (E a * (1 + 2 * a) * (a * t / (1 + a * t)) * (1 + a * t)) with (a * (E a * (1 + 2 * a) * t)) by (field; lra).
  rewrite Rmult_assoc; apply Rmult_le_compat_l; [lra|].
  unfold Rmin; destruct (Rle_dec 1 (E a * (t * (2 - t)))) as [l|l].
  - assert (h := a_over_E a ha).
    assert (t * a <= t * (E a * (2 * a - 1))) by (apply Rmult_le_compat_l; lra).
    assert (0 <= E a * (t * t)) by (apply Rmult_le_pos; nra).
    nra.
  - replace (E a * (t * (2 - t)) * (1 + a * t)) with (E a * t * ((2 - t) * (1 + a * t))) by ring.
    replace (E a * (1 + 2 * a) * t) with (E a * t * (1 + 2 * a)) by ring.
    apply Rmult_le_compat_l; [nra|].
    assert (0 <= (2 * a * (1 - t) - 1) ^ 2) by apply pow2_ge_0; nra.
Qed.

(* What the proof needs for a >= 0.6: laws at distance at most two, Jensen's bound of the density. *)
Lemma cost_large (a t : R) : 6 / 10 <= a -> 0 <= t <= 1 ->
  (1 + a * 2) * exp (a * (2 - t)) + a * Rmin 1 (E a * (t * (2 - t))) <= E a * (1 + 2 * a).
Proof.
  intros ha ht; assert (h := large_forms a t ha ht).
  replace (exp (a * (2 - t))) with (E a * exp (- (a * t))); [nra|].
  unfold E; rewrite <- exp_plus; f_equal; ring.
Qed.

Lemma exp_opp_le (s : R) : 0 <= s -> exp (- s) <= 1 - s + s ^ 2 / 2.
Proof.
  intros h; destruct (MVT_gen (fun z => 1 - z + z ^ 2 / 2 - exp (- z)) 0 s (fun z => -1 + z + exp (- z))) as [c [hc e]].
  - intros z _; auto_derive; [easy | field].
  - intros z _; apply derivable_continuous_pt; reg.
  - rewrite Rmin_left, Rmax_right in hc by lra; rewrite Ropp_0, exp_0 in e.
    assert (g := exp_ineq1_le (- c)); nra.
Qed.

Lemma sinh_ge (s : R) : 0 <= s -> s <= sinh s.
Proof.
  intros h; destruct (MVT_gen (fun z => (exp z - exp (- z)) / 2 - z) 0 s (fun z => (exp z +
    exp (- z)) / 2 - 1)) as [c [hc e]].
  - intros z _; auto_derive; [easy | field].
  - intros z _; apply derivable_continuous_pt; reg.
  - rewrite Ropp_0, exp_0 in e; unfold sinh.
    assert (g : exp c * exp (- c) = 1) by (rewrite <- exp_plus, <- exp_0; f_equal; ring).
    assert (p := exp_pos c); assert (r := exp_pos (- c)); assert (k := pow2_ge_0 (exp c - exp (- c))).
    assert (0 <= (exp c + exp (- c)) / 2 - 1) by nra.
    assert (0 <= ((exp c + exp (- c)) / 2 - 1) * (s - 0)) by (apply Rmult_le_pos; lra).
    lra.
Qed.

(* What it needs for a <= 0.6: the chord of the exponential, and means that tilting moves little. *)
Lemma cost_small (a t : R) : 0 <= a <= 6 / 10 -> 0 <= t <= 1 ->
  (1 + a * (2 - t + (E a - 1) / 2 * (t * (2 - t)))) * (exp (a * (2 - t)) - t * sinh (a * (2 - t))) +
    a * (E a * (t * (2 - t)))
  <= E a * (1 + 2 * a).
Proof.
  intros ha ht; assert (hq := Q_positive a t ha ht).
  assert (hE : 1 <= E a) by (unfold E; assert (g := exp_ineq1_le (2 * a)); lra).
  set (A := 2 - t + (E a - 1) / 2 * (t * (2 - t))).
  assert (hA : 0 <= A) by (unfold A; assert (0 <= (E a - 1) / 2 * (t * (2 - t))) by (apply Rmult_le_pos; nra); lra).
  assert (at0 : 0 <= a * t) by nra.
  set (S := E a * (1 - a * t + (a * t) ^ 2 / 2) - t * (a * (2 - t))).
  assert (hS : exp (a * (2 - t)) - t * sinh (a * (2 - t)) <= S).
  { replace (exp (a * (2 - t))) with (E a * exp (- (a * t))) by (unfold E; rewrite <- exp_plus; f_equal; ring).
    assert (h1 := exp_opp_le (a * t) at0); assert (h2 : a * (2 - t) <= sinh (a * (2 - t))) by (apply sinh_ge; nra).
    unfold S; apply Rplus_le_compat; [apply Rmult_le_compat_l; lra | nra]. }
  assert (e : E a * (1 + 2 * a) - ((1 + a * A) * S + a * (E a * (t * (2 - t)))) = a * t * Q a t) by (unfold S, A, Q;
    field).
  assert (0 <= a * t * Q a t) by (apply Rmult_le_pos; lra).
  assert ((1 + a * A) * (exp (a * (2 - t)) - t * sinh (a * (2 - t))) <= (1 + a * A) * S).
  { apply Rmult_le_compat_l; [nra | exact hS]. }
  lra.
Qed.

(* Twin: the boxes reach to a = 7/10, where the second case is needed; t = 0.
   Twin of: Q_positive. *)
Theorem not_Q_positive_further : ~ forall a t : R, 0 <= a <= 7 / 10 -> 0 <= t <= 1 -> 0 < Q a t.
Proof.
  intros h; assert (k : 0 < Q (7 / 10) 0) by (apply h; lra).
  assert (Q (7 / 10) 0 < 0) by (unfold Q, E; interval with (i_prec 40)); lra.
Qed.
