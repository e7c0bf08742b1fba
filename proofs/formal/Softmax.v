(* Softmax and the Gibbs variational principle, with the gap.

   Scores s on a finite set, temperature tau > 0. F(p) = <p, s> + tau H(p) has the unique maximiser softmax(s / tau)
   among all laws, its value is tau log sum exp(s / tau), and the gap is tau KL(p || softmax). Reader's checklist:
   [ln] of the standard library is 0 at and below 0, and [x / 0] is 0, so that p log p = 0 and p log (p / q) = 0 at
   p = 0; where p > 0 = q the divergence would be infinite and here is not, so that [KL_ge0] asks for q > 0. The claims
   have a reference or a prior; for those see [Prior]. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Softmax.
Variable I : finType.
Implicit Types (s p q : I -> R) (tau : R).

Definition normaliser s := \sum_i exp (s i).
Definition softmax s i := exp (s i) / normaliser s.
Definition lse s := ln (normaliser s).

(* Natural logarithm of the standard library: ln x = 0 for x <= 0, so that p log p = 0 and p log (p/q) = 0 at p = 0. *)
Definition entropy p := - \sum_i (p i * ln (p i)).
Definition KL p q := \sum_i (p i * ln (p i / q i)).
Definition objective s tau p := mean p s + tau * entropy p.

Section OnePoint.
Hypothesis point : inhabited I.

Lemma normaliser_gt0 s : 0 < normaliser s.
Proof. by apply: sum_gt0 => // i; apply: exp_pos. Qed.

Lemma softmax_gt0 s i : 0 < softmax s i.
Proof. by apply: Rdiv_lt_0_compat; [apply: exp_pos | apply: normaliser_gt0]. Qed.

Lemma softmax_sum s : \sum_i softmax s i = 1.
Proof. by rewrite sumZr -/(normaliser s); field; have := normaliser_gt0 s; lra. Qed.

(* log softmax(s / tau)_i = s_i / tau - lse(s / tau). *)
Lemma ln_softmax s i : ln (softmax s i) = s i - lse s.
Proof.
rewrite /softmax /Rdiv ln_mult; [|exact: exp_pos|exact: Rinv_0_lt_compat (normaliser_gt0 s)].
by rewrite ln_exp ln_Rinv; [|exact: normaliser_gt0].
Qed.
End OnePoint.

(* Part of: markov.rows. *)
Theorem softmax_law : inhabited I -> forall s, law (softmax s).
Proof. by move=> point s; split; [move=> i; left; apply: softmax_gt0 | apply: softmax_sum]. Qed.

(* A constant added to all scores changes nothing.
   Part of: naive.direction. *)
Theorem softmax_shift : inhabited I -> forall s c i, softmax (fun j => s j + c) i = softmax s i.
Proof.
move=> point s c i.
rewrite /softmax /normaliser exp_plus (sum_ext (g := fun j => exp (s j) * exp c)); last by move=> j; rewrite exp_plus.
rewrite sumZr -/(normaliser s); field.
by split; apply: Rgt_not_eq; [apply: normaliser_gt0 | apply: exp_pos].
Qed.

(* x log x is bounded below by its tangent, strictly off one: the inequality behind KL >= 0. *)
Lemma ln_le_minus_1 x : 0 < x -> ln x <= x - 1.
Proof. by move=> h; have := exp_ineq1_le (ln x); rewrite exp_ln //; lra. Qed.

Lemma ln_eq_minus_1 x : 0 < x -> ln x = x - 1 -> x = 1.
Proof.
move=> h e; case: (Req_dec (ln x) 0) => [l0|l0]; first by lra.
by have := exp_ineq1 _ l0; rewrite exp_ln //; lra.
Qed.

(* Each term of KL is at least p_i - q_i, strictly where p_i and q_i differ. *)
Lemma KL_term a b : 0 <= a -> 0 < b -> a - b <= a * ln (a / b).
Proof.
move=> ha hb; case: ha => [ha|<-]; last by lra.
have := ln_le_minus_1 (Rdiv_lt_0_compat _ _ hb ha).
have -> : b / a = / (a / b) by field; lra.
rewrite ln_Rinv; last by apply: Rdiv_lt_0_compat.
move=> h; have : a * - ln (a / b) <= a * (/ (a / b) - 1) by apply: Rmult_le_compat_l; lra.
have -> : a * (/ (a / b) - 1) = b - a by field; lra.
by lra.
Qed.

Lemma KL_term_eq a b : 0 <= a -> 0 < b -> a * ln (a / b) = a - b -> a = b.
Proof.
move=> ha hb; case: ha => [ha e|<- ?]; last by lra.
have hab := Rdiv_lt_0_compat _ _ hb ha.
have : ln (b / a) = b / a - 1.
  have -> : b / a = / (a / b) by field; lra.
  rewrite ln_Rinv; last by apply: Rdiv_lt_0_compat.
  apply: (Rmult_eq_reg_l a); last by lra.
  have -> : a * (/ (a / b) - 1) = b - a by field; lra.
  by lra.
move/(ln_eq_minus_1 hab) => e1; have -> : b = a * (b / a) by field; lra.
by rewrite e1; lra.
Qed.

Lemma KL_ge0 p q : law p -> law q -> (forall i, 0 < q i) -> 0 <= KL p q.
Proof.
move=> [hp sp] [_ sq] hq; have : \sum_i (p i - q i) <= KL p q by apply: sum_le => i; apply: KL_term.
by rewrite sumB; lra.
Qed.

Lemma KL_eq0 p q : law p -> law q -> (forall i, 0 < q i) -> (KL p q = 0 <-> forall i, p i = q i).
Proof.
move=> [hp sp] [hq0 sq] hq; split=> [k0 i|e].
  apply: KL_term_eq => //.
  suff : p i * ln (p i / q i) - (p i - q i) = 0 by lra.
  apply: (sum_eq0 (f := fun i => p i * ln (p i / q i) - (p i - q i))) => [j|].
    by have := KL_term (hp j) (hq j); lra.
  by rewrite sumB sumB -/(KL p q); lra.
rewrite /KL -[RHS](@sum0 I); apply: sum_ext => i.
by rewrite e /Rdiv Rinv_r ?ln_1; [lra | have := hq i; lra].
Qed.

(* The gap identity: tau lse(s / tau) - F(p) = tau KL(p || softmax(s / tau)), vertices of the simplex included.
   Part of: maxent.gibbs. *)
Theorem gap_identity s tau p : 0 < tau -> law p ->
  tau * lse (fun i => s i / tau) - objective s tau p = tau * KL p (softmax (fun i => s i / tau)).
Proof.
move=> ht hp; have point := law_inhabited hp; set x := fun i => s i / tau.
have -> : KL p (softmax x) = \sum_i (p i * ln (p i) + (lse x * p i + (-1 / tau) * (p i * s i))).
  apply: sum_ext => i; case: (hp) => h _; case: (h i) => [hi|<-]; last by lra.
  rewrite /Rdiv ln_mult //; last by apply: Rinv_0_lt_compat; apply: softmax_gt0.
  by rewrite ln_Rinv; [rewrite ln_softmax // /x; field; lra | apply: softmax_gt0].
rewrite !sumD !sumZ (proj2 hp) /objective /entropy /mean; field; lra.
Qed.

(* The entropy of softmax, by its scores. *)
Lemma entropy_softmax s : inhabited I -> entropy (softmax s) = lse s - mean (softmax s) s.
Proof.
move=> point; have hp := softmax_law point s.
have -> : mean (softmax s) s = \sum_i (softmax s i * ln (softmax s i) + lse s * softmax s i).
  by apply: sum_ext => i; rewrite ln_softmax //; ring.
by rewrite sumD sumZ (proj2 hp) /entropy; ring.
Qed.

(* Gibbs: the maximum of F over all laws is tau lse(s / tau), at softmax(s / tau) and nowhere else.
   Part of: softmax.prior. *)
Theorem gibbs s tau p : 0 < tau -> law p ->
  objective s tau p <= tau * lse (fun i => s i / tau) /\
  (objective s tau p = tau * lse (fun i => s i / tau) <-> forall i, p i = softmax (fun j => s j / tau) i).
Proof.
move=> ht hp; have point := law_inhabited hp; have gap := gap_identity s ht hp.
have hq := softmax_law point (fun i => s i / tau); have q0 := softmax_gt0 point (fun i => s i / tau).
have k0 := KL_ge0 hp hq q0; split; first by nra.
by rewrite -(KL_eq0 hp hq q0); split=> h; nra.
Qed.
End Softmax.

(* Twin: the gap without the temperature, which is two; a sure law and equal scores.
   Twin of: gap_identity. *)
Theorem not_gap_without_temperature : ~ forall (I : finType) (s : I -> R) tau p, 0 < tau -> law p ->
  tau * lse (fun i => s i / tau) - objective s tau p = KL p (softmax (fun i => s i / tau)).
Proof.
have sure : law (fun b : bool => if b then 1 else 0) by split=> [[]|]; rewrite ?big_bool /=; lra.
move=> h; have := h [finType of bool] (fun=> 0) 2 _ ltac:(lra) sure.
rewrite (gap_identity (I := [finType of bool]) (fun=> 0) (tau := 2)) //; last by lra.
rewrite /KL big_bool /softmax /normaliser big_bool /=.
have -> : 0 / 2 = 0 by field.
rewrite exp_0; have -> : 1 / (1 / (1 + 1)) = 2 by field.
have : 0 < ln 2 by rewrite -ln_1; apply: ln_increasing; lra.
by lra.
Qed.

(* Twin: scores that are multiplied and not shifted; ln 2 and 0, twice.
   Twin of: softmax_shift. *)
Theorem not_softmax_scaled : ~ forall (I : finType) (s : I -> R) i, softmax (fun j => 2 * s j) i = softmax s i.
Proof.
move=> h; have := h [finType of bool] (fun b => if b then ln 2 else 0) true.
rewrite /softmax /normaliser !big_bool /= Rmult_0_r exp_0.
have -> : 2 * ln 2 = ln 2 + ln 2 by ring.
by rewrite exp_plus exp_ln; lra.
Qed.

(* Twin: without a score there is no law, the sum of no weights is zero.
   Twin of: softmax_law. *)
Theorem not_law_of_none : ~ forall (I : finType) (s : I -> R), law (softmax s).
Proof.
move=> h; have [_] := h [finType of void] (fun=> 0); rewrite big1 => [|[]]; lra.
Qed.

(* Twin: the value without the temperature, which is two; two equal scores and weights.
   Twin of: gibbs. *)
Theorem not_value_without_temperature : ~ forall (I : finType) (s : I -> R) tau p, 0 < tau -> law p ->
  objective s tau p <= lse (fun i => s i / tau).
Proof.
have two : 0 < 2 by lra.
move=> h; have := h [finType of bool] (fun=> 0) 2 _ two (softmax_law (inhabits true) (fun=> 0 / 2)).
rewrite (proj2 (proj2 (gibbs (fun _ : bool => 0) two (softmax_law (inhabits true) (fun=> 0 / 2)))) (fun i => erefl)).
rewrite /lse /normaliser big_bool; have -> : 0 / 2 = 0 by field.
have : 0 < ln (1 + 1) by rewrite -ln_1; apply: ln_increasing; lra.
rewrite exp_0 /=; lra.
Qed.
