(* Norms of the Jacobian of softmax from l_1 and l_infinity to l_1 and l_infinity, and the variance in an interval.

   J = diag(p) - p p^T, q_i = 1 - p_i: |J| is 2 max p_i q_i from l_infinity to itself and from l_1 to itself, max
   p_i q_i from l_1 to l_infinity, and at most 1 from l_infinity to l_1. Reader's checklist: [jacobian p v] is J v;
   a norm is stated as the bound for every v, with the v that attains it where one is given; temperature one. The
   mixed norms with l_2 are in [MixedNorms], l_2 is in [Jacobian]; those of other exponents are not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Euclid Softmax Jacobian.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Norms.
Variable I : finType.
Implicit Types (p v : I -> R) (i j : I) (c M : R).

Definition entry p i j := (if j == i then p i else 0) - p i * p j.
Definition unit_vector i j : R := if j == i then 1 else 0.

Lemma rest p i : law p -> \sum_j (if j == i then 0 else p j) = 1 - p i.
Proof.
case=> _ <-; have -> : \sum_j p j = \sum_j (if j == i then p j else 0) + \sum_j (if j == i then 0 else p j).
  by rewrite -sumD; apply: sum_ext => j; case: (j == i); ring.
by rewrite -big_mkcond big_pred1_eq; ring.
Qed.

Lemma law_le1 p i : law p -> p i <= 1.
Proof. by move=> hp; rewrite -(proj2 hp); apply: sum_term => j; apply: (proj1 hp). Qed.

Lemma pair_le p i j : law p -> j != i -> p i * p j <= p i * (1 - p i).
Proof.
move=> hp ne; apply: Rmult_le_compat_l; first exact: (proj1 hp).
rewrite -(rest i hp); have -> : p j = (fun j => if j == i then 0 else p j) j by rewrite (negbTE ne).
by apply: sum_term => k; case: (k == i); [lra | apply: (proj1 hp)].
Qed.

(* From l_infinity to itself: 2 p_i q_i at entry i, attained by +1 there and -1 elsewhere.
   Part of: softmax.norms, softmax.lipschitz. *)
Theorem jacobian_sup p i : law p ->
  (forall v c, (forall j, Rabs (v j) <= c) -> Rabs (jacobian p v i) <= 2 * (p i * (1 - p i)) * c) /\
  jacobian p (fun j => if j == i then 1 else -1) i = 2 * (p i * (1 - p i)).
Proof.
move=> hp; have p0 := proj1 hp i; have p1 := law_le1 i hp.
have diff v : v i - mean p v = \sum_j ((if j == i then 0 else p j) * (v i - v j)).
  rewrite -{1}(mean_const (v i) hp) /mean -sumB; apply: sum_ext => j.
  by case: eqP => [->|_]; ring.
split=> [v c hv|].
  rewrite /jacobian Rabs_mult (Rabs_pos_eq (p i)) // diff.
  have -> : 2 * (p i * (1 - p i)) * c = p i * ((1 - p i) * (2 * c)) by ring.
  apply: Rmult_le_compat_l => //; rewrite -(rest i hp) -sumZr.
  apply: Rle_trans (sum_abs _) _; apply: sum_le => j; rewrite Rabs_mult.
  have r0 : 0 <= (if j == i then 0 else p j) by case: (j == i); [lra | apply: (proj1 hp)].
  rewrite (Rabs_pos_eq _ r0); apply: Rmult_le_compat_l => //.
  by apply: Rle_trans (Rabs_triang _ _) _; rewrite Rabs_Ropp; have := hv i; have := hv j; lra.
rewrite /jacobian diff eqxx.
have -> : \sum_j ((if j == i then 0 else p j) * (1 - (if j == i then 1 else -1))) =
    \sum_j ((if j == i then 0 else p j) * 2) by apply: sum_ext => j; case: (j == i); ring.
by rewrite sumZr (rest i hp); ring.
Qed.

(* From l_1 to l_infinity: max p_i q_i, attained by unit vectors.
   Part of: softmax.norms, softmax.lipschitz.
   No twin: attained, as the statement says. *)
Theorem jacobian_sup_l1 p i M : law p -> (forall j, p j * (1 - p j) <= M) ->
  (forall v, Rabs (jacobian p v i) <= M * (\sum_j Rabs (v j))) /\ jacobian p (unit_vector i) i = p i * (1 - p i).
Proof.
move=> hp hM; split=> [v|].
  rewrite jacobian_matrix -sumZ; apply: Rle_trans (sum_abs _) _; apply: sum_le => j; rewrite Rabs_mult.
  apply: Rmult_le_compat_r; first exact: Rabs_pos.
  have p0 := proj1 hp i; have p1 := law_le1 i hp; have q0 := proj1 hp j.
  case e : (j == i); last first.
    rewrite Rminus_0_l Rabs_Ropp Rabs_pos_eq; last exact: Rmult_le_pos.
    by apply: Rle_trans (hM i); apply: pair_le => //; rewrite e.
  have -> : p j = p i by move/eqP: e => ->.
  have -> : p i - p i * p i = p i * (1 - p i) by ring.
  by rewrite Rabs_pos_eq; [exact: hM | apply: Rmult_le_pos; lra].
rewrite /jacobian /mean; have -> : \sum_j (p j * unit_vector i j) = \sum_j (if j == i then p j else 0).
  by apply: sum_ext => j; rewrite /unit_vector; case: (j == i); ring.
by rewrite -big_mkcond big_pred1_eq /unit_vector eqxx.
Qed.

Lemma column p j : law p -> \sum_i Rabs (entry p i j) = 2 * (p j * (1 - p j)).
Proof.
move=> hp; have p0 := proj1 hp; have p1 := law_le1 j hp.
have -> : \sum_i Rabs (entry p i j) = \sum_i ((if i == j then p i * (1 - p j) else 0) +
    p j * (if i == j then 0 else p i)).
  apply: sum_ext => i; rewrite /entry (eq_sym j); case: eqP => [->|_].
    by rewrite Rabs_pos_eq; [ring | have := p0 j; nra].
  by rewrite Rminus_0_l Rabs_Ropp Rabs_pos_eq; [ring | apply: Rmult_le_pos].
by rewrite sumD -big_mkcond big_pred1_eq sumZ rest //; ring.
Qed.

(* From l_1 to itself: 2 max p_i q_i, attained by unit vectors.
   Part of: softmax.norms, softmax.lipschitz. *)
Theorem jacobian_l1 p M : law p -> (forall j, p j * (1 - p j) <= M) ->
  (forall v, \sum_i Rabs (jacobian p v i) <= 2 * M * (\sum_j Rabs (v j))) /\
  (forall j, \sum_i Rabs (jacobian p (unit_vector j) i) = 2 * (p j * (1 - p j))).
Proof.
move=> hp hM; split=> [v|j].
  apply: (Rle_trans _ (\sum_i \sum_j (Rabs (entry p i j) * Rabs (v j)))).
    apply: sum_le => i; rewrite jacobian_matrix; apply: Rle_trans (sum_abs _) _.
    by apply: sum_le => j; rewrite Rabs_mult; apply: Rle_refl.
  rewrite sum_exchange -sumZ; apply: sum_le => j; rewrite sumZr column //.
  by apply: Rmult_le_compat_r; [apply: Rabs_pos | have := hM j; lra].
rewrite -(column j hp); apply: sum_ext => i; congr Rabs; rewrite jacobian_matrix.
have -> : \sum_k (((if k == i then p i else 0) - p i * p k) * unit_vector j k) =
    \sum_k (if k == j then entry p i k else 0).
  by apply: sum_ext => k; rewrite /unit_vector /entry; case: (k == j); ring.
by rewrite -big_mkcond big_pred1_eq.
Qed.

(* The variance of a variable in an interval, attained by half of the mass at each end; softmax.variance has three
   outcomes, here are any number.
   Claim: softmax.variance. *)
Theorem variance_quarter v l u : (forall i, l <= v i <= u) ->
  (forall p, law p -> variance p v <= / 4 * (u - l) ^ 2) /\
  (forall i j, v i = l -> v j = u -> let p := fun k => (if k == i then / 2 else 0) + (if k == j then / 2 else 0) in
    law p /\ variance p v = / 4 * (u - l) ^ 2).
Proof.
move=> h; split=> [p hp|i j vi vj p]; first by have := popoviciu hp h; lra.
have hp : law p.
  split=> [k|]; first by rewrite /p; case: (k == i); case: (k == j); lra.
  by rewrite /p sumD -!big_mkcond !big_pred1_eq; lra.
split=> //; rewrite variance_raw //.
have m f : mean p f = / 2 * f i + / 2 * f j.
  have -> : mean p f = \sum_k ((if k == i then / 2 * f k else 0) + (if k == j then / 2 * f k else 0)).
    by apply: sum_ext => k; rewrite /p; case: (k == i); case: (k == j); ring.
  by rewrite sumD -!big_mkcond !big_pred1_eq.
by rewrite !m vi vj; field.
Qed.

(* From l_infinity to l_1: at most one.
   Part of: softmax.lipschitz. *)
Theorem jacobian_l1_sup p v c : law p -> (forall j, Rabs (v j) <= c) -> \sum_i Rabs (jacobian p v i) <= c.
Proof.
move=> hp hv; have c0 : 0 <= c by case: (law_inhabited hp) => i; have := hv i; have := Rabs_pos (v i); lra.
set m := mean p v; have -> : \sum_i Rabs (jacobian p v i) = mean p (fun i => Rabs (v i - m)).
  by apply: sum_ext => i; rewrite /jacobian Rabs_mult Rabs_pos_eq //; apply: (proj1 hp).
have h1 := variance_ge0 (fun i => Rabs (v i - m)) hp; rewrite variance_raw // in h1.
have e : mean p (fun i => Rabs (v i - m) ^ 2) = variance p v by apply: mean_ext => i; rewrite pow2_abs.
have h2 : variance p v <= (c - - c) ^ 2 / 4.
  by apply: popoviciu => // i; have := hv i; have := Rle_abs (v i); have := Rle_abs (- v i); rewrite Rabs_Ropp; lra.
rewrite e in h1; apply: Rsqr_incr_0_var => //; rewrite /Rsqr; lra.
Qed.
End Norms.

(* Attained, from l_infinity to l_1, by two equal weights and (1, -1).
   Part of: softmax.norms-attained.
   No twin: an equality at a witness. *)
Theorem sup_l1_attained : let p := fun _ : bool => / 2 in let v := fun b : bool => if b then 1 else -1 in
  \sum_i Rabs (jacobian p v i) = 1.
Proof.
rewrite /jacobian /mean !big_bool /=.
have -> : / 2 * (1 - (/ 2 * 1 + / 2 * -1)) = / 2 by field.
have -> : / 2 * (-1 - (/ 2 * 1 + / 2 * -1)) = - / 2 by field.
by rewrite Rabs_Ropp Rabs_pos_eq; lra.
Qed.

(* Twin: a quarter, the constant of one sigmoid, from l_2 to l_2.
   Twin of: jacobian_norm, jacobian_norm_half. *)
Theorem not_quarter : ~ forall (I : finType) (p v : I -> R), law p ->
  dot (jacobian p v) (jacobian p v) <= (/ 4) ^ 2 * dot v v.
Proof.
move=> h; have := h [finType of bool] (fun=> / 2) (fun b => if b then 1 else -1).
rewrite /dot /jacobian /mean !big_bool /= => k.
suff : law (fun _ : bool => / 2) by move/k; lra.
by split=> [b|]; rewrite ?big_bool /=; lra.
Qed.

(* Twin: with weights of sum 9 / 10 the l_infinity norm exceeds its bound; three equal weights.
   Twin of: jacobian_sup. *)
Theorem not_unnormalised : ~ forall (I : finType) (p : I -> R) i, (forall j, 0 <= p j) -> \sum_j p j = 9 / 10 ->
  forall v c, (forall j, Rabs (v j) <= c) -> Rabs (jacobian p v i) <= 2 * (p i * (9 / 10 - p i)) * c.
Proof.
move=> h; have := h [finType of bool] (fun b => if b then 9 / 10 else 0) true.
move=> /(_ (fun b => ltac:(case: b; lra))); rewrite big_bool /= => /(_ ltac:(lra)) /(_ (fun=> 1) 1).
rewrite /jacobian /mean !big_bool /= => /(_ (fun b => ltac:(rewrite Rabs_R1; lra))).
by rewrite Rabs_pos_eq; lra.
Qed.

(* Twin: a variance of up to a quarter of the squared length is reached, so that nine tenths of the bound are too
   few.
   Twin of: variance_quarter. *)
Theorem not_variance_near : ~ forall (I : finType) (p v : I -> R) l u, law p -> (forall i, l <= v i <= u) ->
  variance p v <= 9 / 10 * (/ 4 * (u - l) ^ 2).
Proof.
move=> h; have := h [finType of bool] (fun=> / 2) (fun b => if b then 1 else 0) 0 1.
rewrite /variance /mean !big_bool /= => k.
suff : law (fun _ : bool => / 2) by move=> /k /(_ (fun b => ltac:(case: b; lra))); lra.
by split=> [b|]; rewrite ?big_bool /=; lra.
Qed.

(* Twin: from l_1 to itself without the factor two; equal weights, a unit vector.
   Twin of: jacobian_l1. *)
Theorem not_l1_single : ~ forall (I : finType) (p v : I -> R) M, law p -> (forall j, p j * (1 - p j) <= M) ->
  \sum_i Rabs (jacobian p v i) <= M * (\sum_j Rabs (v j)).
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
have quarter (j : bool) : / 2 * (1 - / 2) <= / 4 by lra.
move=> h; have := h bool_finType _ (unit_vector true) (/ 4) half quarter.
have [_ ->] := jacobian_l1 half quarter.
by rewrite big_bool /unit_vector /= Rabs_R1 Rabs_R0; lra.
Qed.

(* Twin: from l_infinity to l_1 half as much; [sup_l1_attained].
   Twin of: jacobian_l1_sup. *)
Theorem not_l1_sup_half : ~ forall (I : finType) (p v : I -> R) c, law p -> (forall j, Rabs (v j) <= c) ->
  \sum_i Rabs (jacobian p v i) <= c / 2.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
move=> h; have := h bool_finType _ (fun b => if b then 1 else -1) 1 half.
move=> /(_ (fun b => ltac:(case: b; rewrite ?Rabs_Ropp Rabs_R1; lra))); have := sup_l1_attained; rewrite /=; lra.
Qed.
