(* The constant e^(2a) (1 + 2a) is the least in every dimension from one on: for every smaller c there are two laws of
   two atoms on an axis that refute it.

   Reader's checklist: the witness is that of the claim lipschitz.joint-witness, on the axis [o] of a space with any
   axes; the claim also gives the factor 1 - 2 eps E that two atoms reach, which is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Euclid Tilt Transport SharpW1 DetourLeast.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Witness.
Variables (K : finType) (o : K) (a : R).

Definition line (k l : K) := if (k == o) && (l == o) then - a else 0.
Definition axis (x : R) (k : K) := if k == o then x else 0.

Lemma line_T u l : T line u l = if l == o then - a * u o else 0.
Proof.
rewrite /T (sum_axis (o := o)) /line ?eqxx /=; first by case: (l == o); ring.
by move=> k /negbTE -> /=; ring.
Qed.

Lemma line_norm u : 0 <= a -> norm (T line u) <= a * norm u.
Proof.
move=> a0; have -> : norm (T line u) = Rabs (T line u o) by apply: norm_axis => k /negbTE e; rewrite line_T e.
by rewrite line_T eqxx Rabs_mult Rabs_Ropp Rabs_pos_eq //; apply: Rmult_le_compat_l => //; apply: axis_le.
Qed.

Lemma form_line u v : form line u v = - a * u o * v o.
Proof. by rewrite /form /dot (sum_axis (o := o)) => [|l /negbTE e]; rewrite line_T ?e ?eqxx //; ring. Qed.

Lemma axis_norm x : norm (axis x) = Rabs x.
Proof. by rewrite (norm_axis (o := o)) /axis ?eqxx // => k /negbTE ->. Qed.
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
move=> [o] a0; have -> : 2 * a = form (line o a) (axis o 1) (minus (axis o (-1)) (axis o 1)).
  by rewrite form_line /minus /axis eqxx; ring.
set e := form _ _ _ => hc.
have n1 : norm (axis o 1) <= 1 by rewrite axis_norm Rabs_R1; lra.
have n2 : norm (axis o (-1)) <= 1 by rewrite axis_norm Rabs_Ropp Rabs_R1; lra.
have e0 : 0 <= e by rewrite /e form_line /minus /axis eqxx; lra.
case: (attention_W1_detour_least (inhabits o) Rlt_0_1 n1 n2 erefl e0 hc) =>
  I [J [p [q [x [y [before [after [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]].
by exists I, J, (line o a), p, q, x, y, before, after; split=> // u; exact: line_norm.
Qed.

(* For the positive form a on an axis the same argument gives e^(a/4) (1 + a/4): the heavy atom is half way.
   Part of: lipschitz.joint-witness. *)
Theorem attention_W1_least_positive (K : finType) (o : K) (a c : R) : 0 <= a -> c < exp (a / 4) * (1 + a / 4) ->
  exists (I J : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    law p /\ law q /\ (forall i, norm (x i) <= 1) /\ (forall j, norm (y j) <= 1) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output (line o (- a)) p x (x i)) (output (line o (- a)) q y (y j)))) p q after /\
    c * before < after.
Proof.
move=> a0 hc; have n1 : norm (axis o (/ 2)) <= 1 by rewrite axis_norm Rabs_pos_eq; lra.
have n2 : norm (axis o 1) <= 1 by rewrite axis_norm Rabs_R1; lra.
have e : form (line o (- a)) (axis o (/ 2)) (minus (axis o 1) (axis o (/ 2))) = a / 4.
  by rewrite form_line /minus /axis eqxx; field.
exact: (attention_W1_detour_least (inhabits o) Rlt_0_1 n1 n2 e ltac:(lra) hc).
Qed.

(* Twin: in the plane, as on the line, (1 + 2a) exp(a) is no constant; a = 1.
   Twin of: attention_W1. *)
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

(* Twin: the radius and not its square in the constant; r = 2, the form -1.
   Twin of: attention_W1_scaled. *)
Theorem not_radius_once : ~ forall (K I J : finType) (B : K -> K -> R) b r (p : I -> R) (q : J -> R) (x : I -> K -> R)
    (y : J -> K -> R) before after, 0 < r -> 0 <= b -> (forall u, norm (T B u) <= b * norm u) -> law p -> law q ->
  (forall i, norm (x i) <= r) -> (forall j, norm (y j) <= r) -> W1 (fun i j => norm (minus (x i) (y j))) p q before ->
  W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after ->
  after <= exp (2 * (b * r)) * (1 + 2 * (b * r)) * before.
Proof.
have two : 0 < 2 by lra.
have one : 0 <= 1 by lra.
have n1 : norm (axis tt 2) <= 2 by rewrite axis_norm Rabs_pos_eq; lra.
have n2 : norm (axis tt (-2)) <= 2 by rewrite axis_norm Rabs_left1; lra.
have e : form (line tt 1) (axis tt 2) (minus (axis tt (-2)) (axis tt 2)) = 8.
  by rewrite form_line /minus /axis eqxx; ring.
have lt : exp (2 * (1 * 2)) * (1 + 2 * (1 * 2)) < exp 8 * (1 + 8).
  by apply: Rmult_le_0_lt_compat; [left; apply: exp_pos | lra | apply: exp_increasing; lra | lra].
case: (attention_W1_detour_least (inhabits tt) two n1 n2 e ltac:(lra) lt) =>
  I [J [p [q [x [y [before [after [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]].
by move=> h; have := h _ I J _ 1 2 p q x y before after two one (fun u => line_norm tt u one) hp hq hx hy hb ha; lra.
Qed.

(* Twin: two per cent more; the form zero, whose output is the mean.
   Twin of: attention_W1_least. *)
Theorem not_least_further : ~ forall (K : finType) (a c : R), inhabited K -> 0 <= a ->
  c < 102 / 100 * (exp (2 * a) * (1 + 2 * a)) ->
  exists (I J : finType) (B : K -> K -> R) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    (forall u, norm (T B u) <= a * norm u) /\ law p /\ law q /\ (forall i, norm (x i) <= 1) /\
      (forall j, norm (y j) <= 1) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after /\
    c * before < after.
Proof.
have e0 := exp_pos (2 * 0).
move=> h; case: (h [finType of unit] 0 (exp (2 * 0) * (1 + 2 * 0)) (inhabits tt) (Rle_refl 0) ltac:(lra)) =>
  I [J [B [p [q [x [y [before [after [hB [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]]]].
by have := attention_W1 (Rle_refl 0) hB hp hq hx hy hb ha; lra.
Qed.

(* Twin: and for the positive form, zero again.
   Twin of: attention_W1_least_positive. *)
Theorem not_least_positive_further : ~ forall (K : finType) (o : K) (a c : R), 0 <= a ->
  c < 102 / 100 * (exp (a / 4) * (1 + a / 4)) ->
  exists (I J : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    law p /\ law q /\ (forall i, norm (x i) <= 1) /\ (forall j, norm (y j) <= 1) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output (line o (- a)) p x (x i)) (output (line o (- a)) q y (y j)))) p q after /\
    c * before < after.
Proof.
have e : exp (2 * 0) * (1 + 2 * 0) < 102 / 100 * (exp (0 / 4) * (1 + 0 / 4)).
  by have -> : 2 * 0 = 0 by [ring]; have -> : 0 / 4 = 0 by [field]; rewrite exp_0; lra.
move=> h; case: (h _ tt 0 _ (Rle_refl 0) e) => I [J [p [q [x [y [before [after [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]].
rewrite Ropp_0 in ha.
by have := attention_W1 (Rle_refl 0) (fun u => line_norm tt u (Rle_refl 0)) hp hq hx hy hb ha; lra.
Qed.
