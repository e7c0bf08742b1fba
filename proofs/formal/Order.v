(* What scores say of weights: the largest mean score, the order of the weights, and how far from equal they are.

   Reader's checklist: [top] is a bound of the scores that is met on the set A and missed by [delta] off it; the claims
   have temperatures, which divide the scores; naive.order is about any symmetric concave entropy, here is softmax.
   softmax.cold also bounds the value, and softmax.hot does; neither is here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Euclid Transport Diameter Masks.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Order.
Variable I : finType.
Implicit Types (p s : I -> R) (A : I -> bool).

(* A law misses the largest score by at least the gap times what it has off the largest; equality on their face alone.
   Claim: naive.vertex. *)
Theorem vertex p s A top delta : law p -> (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) ->
  0 < delta -> delta * lost A p <= top - mean p s /\ (mean p s = top <-> forall i, ~~ A i -> p i = 0).
Proof.
move=> hp on off d0; have p0 := proj1 hp.
have e : top - mean p s = \sum_i (p i * (top - s i)).
  by rewrite -{1}(mean_const top hp) /mean -sumB; apply: sum_ext => i; ring.
have term i : delta * (if A i then 0 else p i) <= p i * (top - s i).
  case h : (A i); first by rewrite (on i h); lra.
  by have := Rmult_le_compat_l _ _ _ (p0 i) (off i (negbT h)); have := p0 i; nra.
have first : delta * lost A p <= top - mean p s by rewrite e /lost -sumZ; apply: sum_le.
have l0 i : 0 <= (if A i then 0 else p i) by case: (A i); [lra | apply: p0].
split=> //; split=> [z i ni|z].
  have : lost A p = 0.
    have h : 0 <= lost A p by apply: sum_ge0.
    by apply: Rle_antisym => //; apply: (Rmult_le_reg_l delta) => //; lra.
  by move/(sum_eq0 l0)/(_ i); rewrite (negbTE ni).
suff : top - mean p s = 0 by lra.
rewrite e big1 // => i _; case h : (A i); first by rewrite (on i h); ring.
by rewrite (z i (negbT h)); ring.
Qed.

(* Larger scores have larger weights, equal ones equal weights, and logarithms differ as the scores.
   Part of: naive.order. *)
Theorem softmax_order s i j : inhabited I -> (s j < s i -> softmax s j < softmax s i) /\
  (s i = s j -> softmax s i = softmax s j) /\ ln (softmax s i) - ln (softmax s j) = s i - s j.
Proof.
move=> point; have n0 := normaliser_gt0 point s; split; [|split] => [lt|e|]; last by rewrite !ln_softmax //; ring.
  by apply: Rmult_lt_compat_r; [apply: Rinv_0_lt_compat | apply: exp_increasing].
by rewrite /softmax e.
Qed.

(* What the smaller scores have: at most (n - m) / m exp(- delta), counts as sums.
   Part of: softmax.cold. *)
Theorem cold p s A top delta : inhabited I -> (exists i, A i) ->
  (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) -> p = softmax s ->
  lost A p <= (\sum_i (if A i then 0 else 1)) / (\sum_i (if A i then 1 else 0)) * exp (- delta).
Proof.
move=> point [k Ak] on off ->; have n0 := normaliser_gt0 point s; set m := \sum_i (if A i then 1 else 0).
have m0 : 0 < m.
  have : (fun i => if A i then 1 else 0) k <= m by apply: sum_term => i; case: (A i); lra.
  by rewrite Ak; lra.
have low : m * exp top <= normaliser s.
  rewrite /m -sumZr; apply: sum_le => i; have := exp_pos (s i).
  by case h : (A i); [rewrite (on i h); lra | lra].
have e0 := exp_pos top.
have mono x y : x <= y -> exp x <= exp y by case=> [xy|->]; [left; apply: exp_increasing | right].
apply: (Rle_trans _ ((\sum_i (if A i then 0 else 1)) * (exp (top - delta) / (m * exp top)))).
  rewrite -sumZr; apply: sum_le => i; case h : (A i); first by lra.
  rewrite Rmult_1_l /softmax; apply: Rmult_le_compat; [left; apply: exp_pos | left; apply: Rinv_0_lt_compat; lra | |].
    by apply: mono; apply: off; rewrite h.
  by apply: Rinv_le_contravar => //; apply: Rmult_lt_0_compat.
by right; rewrite /Rminus exp_plus; field; lra.
Qed.

(* The weights are within tanh(range / 4) of equal ones, in total variation.
   Part of: softmax.hot. *)
Theorem hot s o : inhabited I -> (forall i j, s i - s j <= o) -> TV (softmax s) (softmax (fun=> 0)) <= tanh (o / 4).
Proof. by move=> point h; apply: softmax_TV => // i j; have := h i j; lra. Qed.
End Order.

(* Twin: the gap taken one per cent larger, two scores 1 and 0 and equal weights. *)
Theorem not_vertex_gap : ~ forall (I : finType) (p s : I -> R) (A : I -> bool) top delta, law p ->
  (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) -> 0 < delta ->
  101 / 100 * delta * lost A p <= top - mean p s.
Proof.
move=> h; have := h [finType of bool] (fun=> / 2) (fun b => if b then 1 else 0) (fun b => b) 1 1.
rewrite /lost /mean !big_bool /= => k.
have : 101 / 100 * 1 * (0 + / 2) <= 1 - (/ 2 * 1 + / 2 * 0).
  apply: k; [split=> [b|]; rewrite ?big_bool /=; lra | by case | by case=> // _; lra | lra].
by lra.
Qed.

(* Twin: a quarter of the range is not a half of a quarter; two scores 1 and -1 of range 2 against equal ones. *)
Theorem not_hot_eighth : ~ forall (I : finType) (s : I -> R) o, inhabited I -> (forall i j, s i - s j <= o) ->
  TV (softmax s) (softmax (fun=> 0)) <= tanh (o / 8).
Proof.
have point : inhabited [finType of bool] by constructor; exact: true.
move=> h; have := h [finType of bool] (fun b => if b then 1 else -1) 2 point.
move=> /(_ (fun b c => ltac:(case: b; case: c; lra))); rewrite /TV /softmax /normaliser !big_bool /= exp_0.
have e := exp_pos 1; have -> : exp (-1) = / exp 1 by rewrite -exp_Ropp; congr exp; ring.
set E := exp 1 in e *; have E1 : 2 <= E by have := exp_ineq1_le 1; rewrite -/E; lra.
have -> : E / (E + / E) - 1 / (1 + 1) = (E * E - 1) / (2 * (E * E + 1)) by field; nra.
have -> : / E / (E + / E) - 1 / (1 + 1) = - ((E * E - 1) / (2 * (E * E + 1))) by field; nra.
have q : 3 / 10 <= (E * E - 1) / (2 * (E * E + 1)).
  have -> : (E * E - 1) / (2 * (E * E + 1)) = 1 / 2 - / (E * E + 1) by field; nra.
  have : / (E * E + 1) <= / 5 by apply: Rinv_le_contravar; nra.
  by lra.
rewrite Rabs_Ropp Rabs_pos_eq; last by lra.
have t : tanh (2 / 8) <= 1 / 4.
  case: (MVT_gen (fun x => x - tanh x) 0 (1 / 4) (fun x => tanh x ^ 2)) => [x _|x _|c [_ e']].
  - rewrite /tanh /sinh /cosh; auto_derive; first by have := exp_pos x; have := exp_pos (- x); lra.
    by have := exp_pos x; have := exp_pos (- x); rewrite /= => *; field; lra.
  - rewrite /tanh /sinh /cosh; apply: continuity_pt_minus; first by apply: derivable_continuous_pt; reg.
    apply: derivable_continuous_pt; reg; have := exp_pos x; have := exp_pos (- x); lra.
  have -> : 2 / 8 = 1 / 4 by field.
  have t0 : tanh 0 = 0 by rewrite /tanh /sinh /cosh Ropp_0 exp_0; field.
  by move: e'; rewrite t0; have := pow2_ge_0 (tanh c); lra.
by lra.
Qed.

(* Twin: twice the lead in the exponent; two scores 1 and 0. *)
Theorem not_cold_twice : ~ forall (I : finType) (s : I -> R) (A : pred I) top delta, inhabited I -> (exists i, A i) ->
  (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) -> lost A (softmax s) <=
  (\sum_i (if A i then 0 else 1)) / (\sum_i (if A i then 1 else 0)) * exp (- (2 * delta)).
Proof.
move=> h; have := h [finType of bool] (fun b => if b then 1 else 0) (fun b => b) 1 1 (inhabits true)
  (ex_intro _ true isT).
move=> /(_ (fun b => ltac:(by case: b))) /(_ (fun b => ltac:(case: b => //= _; lra))).
rewrite /lost /softmax /normaliser !big_bool /= exp_0.
have -> : exp (- (2 * 1)) = / (exp 1 * exp 1) by rewrite exp_Ropp -exp_plus; congr (/ exp _); ring.
set E := exp 1; have E1 : 2 <= E by have := exp_ineq1_le 1; rewrite -/E; lra.
have : / (E * E) < / (E + 1) by apply: Rinv_lt_contravar; nra.
by lra.
Qed.
