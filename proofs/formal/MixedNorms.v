(* Norms of the Jacobian of softmax between l_2 and l_1 or l_infinity, and the closed forms that are largest over sets.

   From l_1 to l_2, and from l_2 to l_infinity: max_j p_j sqrt(q_j^2 + sum_(i != j) p_i^2) <= sqrt 2 / 4. From
   l_infinity to l_1: max_S 4 P Q <= 1, and to l_2: max_S 2 sqrt(Q^2 sum_S p^2 + P^2 sum_(S^c) p^2) <= 1 / sqrt 2, as
   from l_2 to l_1.
   Reader's checklist: as in [Norms]; P is [kept A p], the sum of p over A, and Q = 1 - P; a norm is stated as the bound
   for every v, with the v that attains it. Exponents other than 1, 2 and infinity are not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype seq fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Attention Require Import Finite Euclid Softmax Jacobian Masks Norms.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section MixedNorms.
Variable I : finType.
Implicit Types (p v w : I -> R) (i j : I) (c M : R) (A : I -> bool).

(* The Euclidean norm of a column, which is that of a row. *)
Definition column_norm p j := p j * sqrt ((1 - p j) ^ 2 + \sum_i (if i == j then 0 else p i ^ 2)).

Lemma squares_ge0 p j : 0 <= \sum_i (if i == j then 0 else p i ^ 2).
Proof. by apply: sum_ge0 => i; case: (i == j); [lra | apply: pow2_ge_0]. Qed.

Lemma entry_sym p i j : entry p i j = entry p j i.
Proof. by rewrite /entry eq_sym; case: eqP => [->|_]; ring. Qed.

Lemma jacobian_entry p v i : jacobian p v i = dot (fun j => entry p i j) v.
Proof. by rewrite jacobian_matrix. Qed.

Lemma jacobian_symmetric p v w : dot w (jacobian p v) = dot (jacobian p w) v.
Proof.
have e u t : dot u (jacobian p t) = \sum_i \sum_j (u i * entry p i j * t j).
  by apply: sum_ext => i; rewrite jacobian_entry /dot -sumZ; apply: sum_ext => j; ring.
rewrite (dotC _ v) !e sum_exchange; apply: sum_ext => j; apply: sum_ext => i; rewrite entry_sym; ring.
Qed.

Lemma column_square p j : law p -> norm (fun i => entry p i j) = column_norm p j.
Proof.
move=> hp; have p0 := proj1 hp j; have g := squares_ge0 p j.
have -> : norm (fun i => entry p i j) = sqrt (p j * p j * ((1 - p j) ^ 2 + \sum_i (if i == j then 0 else p i ^ 2))).
  congr sqrt; have -> : p j * p j * ((1 - p j) ^ 2 + \sum_i (if i == j then 0 else p i ^ 2)) =
      \sum_i ((if i == j then p j * p j * (1 - p j) ^ 2 else 0) + p j * p j * (if i == j then 0 else p i ^ 2)).
    by rewrite sumD sumZ -big_mkcond big_pred1_eq; ring.
  by apply: sum_ext => i; rewrite /entry (eq_sym j); case: eqP => [->|_]; ring.
have q := pow2_ge_0 (1 - p j).
by rewrite sqrt_mult; [rewrite sqrt_square | nra | lra].
Qed.

(* From l_1 to l_2, attained by unit vectors; from l_2 to l_infinity, attained by rows.
   Part of: softmax.norms, softmax.lipschitz.
   No twin: attained, as the statement says. *)
Theorem jacobian_l1_l2 p M : law p -> (forall j, column_norm p j <= M) ->
  (forall v, norm (jacobian p v) <= M * (\sum_j Rabs (v j))) /\
  (forall j, norm (jacobian p (unit_vector j)) = column_norm p j) /\
  (forall v i, Rabs (jacobian p v i) <= M * norm v) /\
  (forall i, jacobian p (fun j => entry p i j) i = column_norm p i * norm (fun j => entry p i j)).
Proof.
move=> hp hM; have row i : norm (fun j => entry p i j) = column_norm p i.
  by rewrite -(column_square i hp); apply: norm_ext => j; apply: entry_sym.
have abs u v : Rabs (dot u v) <= norm u * norm v.
  apply: Rabs_le; split; last exact: cauchy_schwarz.
  have := cauchy_schwarz (fun k => -1 * u k) v; rewrite dotZl.
  have -> : norm (fun k => -1 * u k) = norm u by rewrite /norm; congr sqrt; apply: sum_ext => k; ring.
  by lra.
split; last split; last split.
- move=> v; have M0 : 0 <= M * (\sum_j Rabs (v j)).
    rewrite -sumZ; apply: sum_ge0 => j; apply: Rmult_le_pos; last exact: Rabs_pos.
    by apply: Rle_trans (hM j); rewrite -column_square //; apply: norm_ge0.
  apply: norm_le => //; rewrite jacobian_symmetric -sumZ -sumZr; apply: sum_le => j.
  apply: Rle_trans (Rle_abs _) _; rewrite Rabs_mult jacobian_entry.
  have -> : M * Rabs (v j) * norm (jacobian p v) = M * norm (jacobian p v) * Rabs (v j) by ring.
  apply: Rmult_le_compat_r; first exact: Rabs_pos.
  by apply: Rle_trans (abs _ _) _; apply: Rmult_le_compat_r; [apply: norm_ge0 | rewrite row].
- move=> j; rewrite -column_square //; apply: norm_ext => i; rewrite jacobian_entry /dot.
  have -> : \sum_k (entry p i k * unit_vector j k) = \sum_k (if k == j then entry p i k else 0).
    by apply: sum_ext => k; rewrite /unit_vector; case: (k == j); ring.
  by rewrite -big_mkcond big_pred1_eq.
- move=> v i; rewrite jacobian_entry; apply: Rle_trans (abs _ _) _; rewrite row.
  by apply: Rmult_le_compat_r; [apply: norm_ge0 |].
by move=> i; rewrite jacobian_entry -row norm_sq.
Qed.

(* No law has a column longer than sqrt 2 / 4.
   Part of: softmax.lipschitz, softmax.norms-attained. *)
Theorem column_quarter p j : law p -> column_norm p j <= sqrt 2 / 4.
Proof.
move=> hp; have p0 := proj1 hp j; have p1 := law_le1 j hp.
have small : \sum_i (if i == j then 0 else p i ^ 2) <= (1 - p j) ^ 2.
  rewrite -(rest j hp) /= Rmult_1_r -sumZ; apply: sum_le => i; case e : (i == j); first by rewrite Rmult_0_r; lra.
  rewrite /= Rmult_1_r; apply: Rmult_le_compat_r; first exact: (proj1 hp).
  have -> : p i = (fun i => if i == j then 0 else p i) i by rewrite e.
  by apply: sum_term => k; case: (k == j); [lra | apply: (proj1 hp)].
have s : sqrt ((1 - p j) ^ 2 + \sum_i (if i == j then 0 else p i ^ 2)) <= sqrt 2 * (1 - p j).
  have -> : sqrt 2 * (1 - p j) = sqrt (2 * (1 - p j) ^ 2).
    by rewrite sqrt_mult; [rewrite sqrt_pow2; lra | lra | apply: pow2_ge_0].
  by apply: sqrt_le_1_alt; lra.
have r := sqrt_pos 2; apply: (Rle_trans _ (p j * (sqrt 2 * (1 - p j)))); first exact: Rmult_le_compat_l.
have q : p j * (1 - p j) <= / 4 by have := pow2_ge_0 (p j - / 2); lra.
by have := Rmult_le_compat_l _ _ _ r q; lra.
Qed.

(* From l_infinity to l_2, and from l_2 to l_1: at most 1 / sqrt 2.
   Part of: softmax.lipschitz, softmax.norms-attained. *)
Theorem jacobian_l2_sup p v c : law p -> (forall j, Rabs (v j) <= c) -> norm (jacobian p v) <= c / sqrt 2.
Proof.
move=> hp hv; have c0 : 0 <= c by case: (law_inhabited hp) => i; have := hv i; have := Rabs_pos (v i); lra.
have r := sqrt_lt_R0 2 ltac:(lra); have rr := sqrt_sqrt 2 ltac:(lra).
set w := jacobian p v; have cov := covariance_le v w hp; rewrite -jacobian_cov // -/w in cov.
have q i : p i * (1 - p i) <= / 4 by have := pow2_ge_0 (p i - / 2); lra.
have vw := variance_half w hp q.
have vv : variance p v <= (c - - c) ^ 2 / 4.
  by apply: popoviciu => // i; have := hv i; have := Rle_abs (v i); have := Rle_abs (- v i); rewrite Rabs_Ropp; lra.
have w0 := dot_ge0 w; have v0 := variance_ge0 v hp; have V0 := variance_ge0 w hp.
have half : dot w w <= c ^ 2 / 2.
  case: w0 => [w0|<-]; last by have := pow2_ge_0 c; lra.
  apply: (Rmult_le_reg_l (dot w w)) => //; apply: (Rle_trans _ (variance p w * variance p v)); first by lra.
  apply: (Rle_trans _ (2 * / 4 * dot w w * ((c - - c) ^ 2 / 4))); first exact: Rmult_le_compat.
  by right; field.
apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos => //; left; apply: Rinv_0_lt_compat.
rewrite /Rsqr norm_sq; apply: Rle_trans half _; right.
have -> : c / sqrt 2 * (c / sqrt 2) = c ^ 2 / (sqrt 2 * sqrt 2) by field; lra.
by rewrite rr.
Qed.

(* Part of: softmax.lipschitz, softmax.norms-attained. *)
Theorem jacobian_l1_l2_dual p v : law p -> \sum_i Rabs (jacobian p v i) <= norm v / sqrt 2.
Proof.
move=> hp; pose s i := if Rlt_dec (jacobian p v i) 0 then -1 else 1.
have s1 j : Rabs (s j) <= 1 by rewrite /s; case: Rlt_dec => _ /=; apply: Rabs_le; lra.
have -> : \sum_i Rabs (jacobian p v i) = dot s (jacobian p v).
  by apply: sum_ext => i; rewrite /s; case: Rlt_dec => h /=; [rewrite Rabs_left | rewrite Rabs_pos_eq]; lra.
rewrite jacobian_symmetric; apply: Rle_trans (cauchy_schwarz _ _) _.
have := Rmult_le_compat_r _ _ _ (norm_ge0 v) (jacobian_l2_sup hp s1).
by rewrite /Rdiv; lra.
Qed.

(* A function that is convex in each coordinate is largest at signs. *)
Definition set_at i (t : R) v j := if j == i then t else v j.

Lemma signs_largest (F : (I -> R) -> R) v : (forall u i t, - 1 <= t <= 1 ->
    F (set_at i t u) <= (1 + t) / 2 * F (set_at i 1 u) + (1 - t) / 2 * F (set_at i (-1) u)) ->
  (forall i, - 1 <= v i <= 1) -> exists A, F v <= F (fun i => if A i then 1 else -1).
Proof.
move=> convex hv.
have h (r : seq I) : exists u, F v <= F u /\ (forall i, - 1 <= u i <= 1) /\ forall i, i \in r -> u i = 1 \/ u i = -1.
  elim: r => [|k r [u [le [hu hr]]]]; first by exists v; split=> //; lra.
  have self : u = set_at k (u k) u.
    by apply: functional_extensionality => j; rewrite /set_at; case: eqP => [->|].
  have c := convex u k (u k) (hu k); rewrite -self in c.
  have inside t : t = 1 \/ t = -1 -> (forall i, - 1 <= set_at k t u i <= 1) /\
      forall i, i \in k :: r -> set_at k t u i = 1 \/ set_at k t u i = -1.
    move=> ht; split=> i; rewrite /set_at ?in_cons; case: eqP => //= _; [by lra | exact: hr].
  have := hu k; case: (Rle_dec (F (set_at k (-1) u)) (F (set_at k 1 u))) => o hk.
    exists (set_at k 1 u); split; last by apply: inside; left.
    by have := Rmult_le_compat_l ((1 - u k) / 2) _ _ ltac:(lra) o; lra.
  exists (set_at k (-1) u); split; last by apply: inside; right.
  have o' : F (set_at k 1 u) <= F (set_at k (-1) u) by lra.
  by have := Rmult_le_compat_l ((1 + u k) / 2) _ _ ltac:(lra) o'; lra.
case: (h (enum I)) => u [le [_ hu]]; exists (fun i => if Req_EM_T (u i) 1 then true else false).
have <- // : u = fun i => if (if Req_EM_T (u i) 1 then true else false) then 1 else -1.
apply: functional_extensionality => i; case: Req_EM_T => [e|ne] //=.
by case: (hu i); rewrite ?mem_enum.
Qed.

Lemma jacobian_signs p A i : law p -> jacobian p (fun i => if A i then 1 else -1) i =
  if A i then 2 * p i * (1 - kept A p) else - (2 * p i * kept A p).
Proof.
move=> hp; have e : mean p (fun i => if A i then 1 else -1) = 2 * kept A p - 1.
  rewrite -[X in _ - X](mean_const 1 hp) /kept /mean -sumZ -sumB; apply: sum_ext => j; case: (A j); ring.
by rewrite /jacobian e; case: (A i); ring.
Qed.

Lemma jacobian_between p u i j t : jacobian p (set_at i t u) j =
  (1 + t) / 2 * jacobian p (set_at i 1 u) j + (1 - t) / 2 * jacobian p (set_at i (-1) u) j.
Proof.
rewrite !jacobian_entry /dot -!sumZ -sumD; apply: sum_ext => k; rewrite /set_at; case: (k == i); field.
Qed.

(* From l_infinity to l_1 and to l_2: the largest over sets, attained by signs.
   Part of: softmax.norms. *)
Theorem jacobian_sets p : law p ->
  (forall v, (forall i, - 1 <= v i <= 1) -> exists A, \sum_i Rabs (jacobian p v i) <= 4 * kept A p * (1 - kept A p)) /\
  (forall A, \sum_i Rabs (jacobian p (fun i => if A i then 1 else -1) i) = 4 * kept A p * (1 - kept A p)) /\
  (forall v, (forall i, - 1 <= v i <= 1) -> exists A, norm (jacobian p v) <=
    2 * sqrt ((1 - kept A p) ^ 2 * (\sum_i (if A i then p i ^ 2 else 0)) +
      kept A p ^ 2 * (\sum_i (if A i then 0 else p i ^ 2)))) /\
  (forall A, norm (jacobian p (fun i => if A i then 1 else -1)) =
    2 * sqrt ((1 - kept A p) ^ 2 * (\sum_i (if A i then p i ^ 2 else 0)) +
      kept A p ^ 2 * (\sum_i (if A i then 0 else p i ^ 2)))).
Proof.
move=> hp; have p0 := proj1 hp.
have one A : \sum_i Rabs (jacobian p (fun i => if A i then 1 else -1) i) = 4 * kept A p * (1 - kept A p).
  have kl := kept_lost A hp; have k0 : 0 <= kept A p by apply: sum_ge0 => i; case: (A i) => //; lra.
  have l0 : 0 <= lost A p by apply: sum_ge0 => i; case: (A i) => //; lra.
  have -> : 4 * kept A p * (1 - kept A p) = 2 * (1 - kept A p) * kept A p + 2 * kept A p * lost A p.
    by rewrite -kl; ring.
  have -> : 2 * (1 - kept A p) * kept A p + 2 * kept A p * lost A p =
    \sum_i (2 * (1 - kept A p) * (if A i then p i else 0) + 2 * kept A p * (if A i then 0 else p i)).
    by rewrite sumD !sumZ.
  apply: sum_ext => i; rewrite jacobian_signs //; case: (A i).
    by rewrite Rabs_pos_eq; [ring | apply: Rmult_le_pos; [have := p0 i; lra | lra]].
  by rewrite Rabs_Ropp Rabs_pos_eq; [ring | apply: Rmult_le_pos; [have := p0 i; lra | lra]].
have two A : norm (jacobian p (fun i => if A i then 1 else -1)) =
    2 * sqrt ((1 - kept A p) ^ 2 * (\sum_i (if A i then p i ^ 2 else 0)) +
      kept A p ^ 2 * (\sum_i (if A i then 0 else p i ^ 2))).
  set s := _ + _; have s0 : 0 <= s.
    by apply: Rplus_le_le_0_compat; apply: Rmult_le_pos; try exact: pow2_ge_0; apply: sum_ge0 => i; case: (A i);
      try exact: pow2_ge_0; lra.
  have -> : 2 * sqrt s = sqrt (2 * 2 * s) by rewrite sqrt_mult; [rewrite sqrt_square | lra | lra]; lra.
  have -> : s =
      \sum_i ((1 - kept A p) ^ 2 * (if A i then p i ^ 2 else 0) + kept A p ^ 2 * (if A i then 0 else p i ^ 2)).
    by rewrite sumD !sumZ.
  by congr sqrt; rewrite /dot -sumZ; apply: sum_ext => i; rewrite jacobian_signs //; case: (A i); ring.
split; last split; last split => //.
- move=> v hv; case: (@signs_largest (fun v => \sum_i Rabs (jacobian p v i)) v) => [u i t ht|//|A hA].
    rewrite -!sumZ -sumD; apply: sum_le => j; rewrite jacobian_between.
    apply: Rle_trans (Rabs_triang _ _) _; rewrite (Rabs_mult ((1 + t) / 2)) (Rabs_mult ((1 - t) / 2)).
    by rewrite (Rabs_pos_eq ((1 + t) / 2)) ?(Rabs_pos_eq ((1 - t) / 2)); lra.
  by exists A; rewrite -one.
- exact: one.
move=> v hv; case: (@signs_largest (fun v => norm (jacobian p v)) v) => [u i t ht|//|A hA].
  2: by exists A; rewrite -two.
have scale c (w : I -> R) : 0 <= c -> norm (fun k => c * w k) = c * norm w.
  move=> c0; rewrite /norm; have -> : dot (fun k => c * w k) (fun k => c * w k) = (c * c) * dot w w.
    by rewrite /dot -sumZ; apply: sum_ext => k; ring.
  by rewrite sqrt_mult; [rewrite sqrt_square | nra | apply: dot_ge0].
rewrite -!scale; [|lra|lra]; apply: Rle_trans (norm_triangle _ _); right; apply: norm_ext => j.
exact: jacobian_between.
Qed.
End MixedNorms.

Lemma inverse_root : 1 / sqrt 2 = sqrt 2 / 2.
Proof.
have r := sqrt_lt_R0 2 ltac:(lra); have rr := sqrt_sqrt 2 ltac:(lra).
apply: (Rmult_eq_reg_r (sqrt 2)); last by lra.
have -> : 1 / sqrt 2 * sqrt 2 = 1 by field; lra.
by lra.
Qed.

(* At two equal weights all three are attained.
   Part of: softmax.norms-attained.
   No twin: equalities at a witness. *)
Theorem mixed_attained : let p := fun _ : bool => / 2 in let v := fun b : bool => if b then 1 else -1 in
  column_norm p true = sqrt 2 / 4 /\ norm (jacobian p v) = 1 / sqrt 2 /\
  \sum_i Rabs (jacobian p v i) = norm v / sqrt 2.
Proof.
have r := sqrt_lt_R0 2 ltac:(lra); have rr := sqrt_sqrt 2 ltac:(lra).
have half : sqrt (/ 2) = 1 / sqrt 2 by rewrite sqrt_inv /Rdiv Rmult_1_l.
have i2 : 1 / sqrt 2 = sqrt 2 / 2 := inverse_root.
move=> p v; split; last split.
- rewrite /column_norm big_bool /p /= (_ : (1 - / 2) * ((1 - / 2) * 1) + (0 + / 2 * (/ 2 * 1)) = / 2); last by field.
  by rewrite half i2; field.
- rewrite /norm /dot /jacobian /mean !big_bool /p /v /= -half; congr sqrt; field.
rewrite /norm /dot /jacobian /mean !big_bool /p /v /=.
have -> : / 2 * (1 - (/ 2 * 1 + / 2 * -1)) = / 2 by field.
have -> : / 2 * (-1 - (/ 2 * 1 + / 2 * -1)) = - / 2 by field.
have -> : 1 * 1 + -1 * -1 = 2 by ring.
by rewrite Rabs_Ropp Rabs_pos_eq /Rdiv ?Rinv_r; lra.
Qed.

(* Twin: the norms of the dual spaces exchanged, sqrt 2 / 4 from l_infinity to l_2.
   Twin of: jacobian_l2_sup. *)
Theorem not_dual_exchanged : ~ forall (I : finType) (p v : I -> R), law p -> (forall j, Rabs (v j) <= 1) ->
  norm (jacobian p v) <= sqrt 2 / 4.
Proof.
move=> h; have [_ [e _]] := mixed_attained; have r := sqrt_lt_R0 2 ltac:(lra); have rr := sqrt_sqrt 2 ltac:(lra).
have i2 : 1 / sqrt 2 = sqrt 2 / 2 := inverse_root.
have : norm (jacobian (fun _ : bool => / 2) (fun b => if b then 1 else -1)) <= sqrt 2 / 4.
  by apply: h => [|b]; [split=> [b|]; rewrite ?big_bool /=; lra | apply: Rabs_le; case: b; lra].
by rewrite e i2; lra.
Qed.

(* Twin: sets of one score are not enough; four equal weights, and two of them against two.
   Twin of: jacobian_sets. *)
Theorem not_singletons : ~ forall (I : finType) (p v : I -> R), law p -> (forall i, - 1 <= v i <= 1) ->
  exists i, \sum_i Rabs (jacobian p v i) <= 4 * p i * (1 - p i).
Proof.
have four (f : bool * bool -> R) :
    \sum_i f i = f (true, true) + f (true, false) + (f (false, true) + f (false, false)).
  have -> : \sum_i f i = \sum_b \sum_c f (b, c) by rewrite pair_bigA; apply: sum_ext => -[].
  by rewrite !big_bool.
have hp : law (fun _ : bool * bool => / 4) by split=> [b|]; rewrite ?four; lra.
move=> h; case: (h _ _ (fun b : bool * bool => if b.1 then 1 else -1) hp) => [[[] c] /=|i]; [lra | lra |].
rewrite (proj1 (proj2 (jacobian_sets hp)) (fun b => b.1)) /kept four /=; lra.
Qed.

(* Twin: from l_infinity to l_2 a half, the constant from l_2 to itself; equal weights, 1 and -1.
   Twin of: jacobian_l2_sup. *)
Theorem not_l2_sup_half : ~ forall (I : finType) (p v : I -> R) c, law p -> (forall j, Rabs (v j) <= c) ->
  norm (jacobian p v) <= c / 2.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
move=> h; have := h bool_finType _ (fun b => if b then 1 else -1) 1 half.
move=> /(_ (fun b => ltac:(case: b; rewrite ?Rabs_Ropp Rabs_R1; lra))) k.
have := norm_sq (jacobian (fun _ : bool => / 2) (fun b => if b then 1 else -1)).
set N := norm _ in k *; have N0 : 0 <= N := norm_ge0 _.
rewrite /dot /jacobian /mean !big_bool /=; nra.
Qed.

(* Twin: from l_2 to l_1 a half, the constant from l_2 to itself; [mixed_attained].
   Twin of: jacobian_l1_l2_dual. *)
Theorem not_l2_l1_half : ~ forall (I : finType) (p v : I -> R), law p -> \sum_i Rabs (jacobian p v i) <= norm v / 2.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
have [_ [_ e]] := mixed_attained; have r := sqrt_lt_R0 2 ltac:(lra); have rr := sqrt_sqrt 2 ltac:(lra).
move=> h; have := h _ _ (fun b : bool => if b then 1 else -1) half; rewrite e /Rdiv.
have -> : norm (fun b : bool => if b then 1 else -1) = sqrt 2.
  by rewrite /norm /dot big_bool /=; congr sqrt; ring.
by rewrite Rinv_r; [nra | lra].
Qed.

(* Twin: no column longer than a third; two equal weights.
   Twin of: column_quarter. *)
Theorem not_column_third : ~ forall (I : finType) (p : I -> R) j, law p -> column_norm p j <= / 3.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
have [e _] := mixed_attained; have r := sqrt_lt_R0 2 ltac:(lra); have rr := sqrt_sqrt 2 ltac:(lra).
by move=> h; have := h _ _ true half; rewrite e; nra.
Qed.
