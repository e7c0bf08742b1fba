(* The largest detour of a form over a ball: between a quarter of its norm and twice it, a quarter if the form is
   symmetric and not negative, the norm if it is skew, twice the norm for - a I; and a bound of it for every tau.

   Reader's checklist: [detour B r e] of [Detour] says that no detour exceeds e, so that the largest one is the least
   such e; [longest B r e], that e r^-2 is a bound of the norm of the transpose. A form that is not negative has
   form u u >= 0, a skew one form u u = 0 for all u. That the bound by tau is attained is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Attention Require Import Finite Euclid Transport Tilt SharpW1 Scaling DetourLeast Least Detour IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Definition longest (K : finType) (B : K -> K -> R) r e := forall u, r ^ 2 * norm (T B u) <= e * norm u.

Section Values.
Variables (K : finType) (B : K -> K -> R) (r e : R).
Hypothesis r0 : 0 < r.
Hypothesis e0 : 0 <= e.
Implicit Types u x y : K -> R.

Lemma form_minus x y : form B x (minus y x) = form B x y - form B x x.
Proof. by rewrite /form dotBr. Qed.

Lemma norm_eq0 u : norm u = 0 -> norm (T B u) = 0.
Proof.
move=> z; have d : dot u u = 0 by rewrite -norm_sq z; ring.
have u0 k : u k = 0.
  by have := sum_eq0 (fun k => Rle_0_sqr (u k)) d k; case/Rmult_integral.
rewrite -sqrt_0 /norm; congr sqrt; rewrite /dot -[RHS](@sum0 K); apply: sum_ext => k.
by rewrite /T (sum_ext (g := fun=> 0)) ?sum0 => [|l]; rewrite ?u0; ring.
Qed.

(* A vector of length t along u, or zero. *)
Definition along t u : K -> R := fun k => t / norm u * u k.

Lemma along_norm t u : 0 <= t -> norm u <> 0 -> norm (along t u) = t.
Proof.
move=> t0 ne; have n0 := norm_ge0 u; rewrite norm_scale; first by field.
by apply: Rmult_le_pos => //; left; apply: Rinv_0_lt_compat; lra.
Qed.

Lemma form_along t u x : norm (T B x) <> 0 -> form B x (along t (T B x)) = t * norm (T B x).
Proof. by move=> ne; rewrite /form dot_scale -norm_sq; field. Qed.

Lemma form_le x y : longest B r e -> norm x <= r -> norm y <= r -> form B x y <= e.
Proof.
move=> h hx hy; apply: (Rle_trans _ _ _ (cauchy_schwarz _ _)).
have rr := pow_lt r 2 r0; apply: (Rmult_le_reg_l (r ^ 2)) => //; have := h x.
have n0 := norm_ge0 (T B x); have n1 := norm_ge0 y; have n2 := norm_ge0 x => k.
have : r ^ 2 * norm (T B x) * norm y <= e * norm x * norm y by apply: Rmult_le_compat_r.
have : e * (norm x * norm y) <= e * (r * r) by apply: Rmult_le_compat_l => //; apply: Rmult_le_compat.
by lra.
Qed.

Lemma form_ge x : longest B r e -> norm x <= r -> - e <= form B x x.
Proof.
move=> h hx; have hx' : norm (fun k => -1 * x k) <= r.
  by apply: Rle_trans hx; right; rewrite /norm; congr sqrt; apply: sum_ext => k; ring.
by have := form_le h hx hx'; rewrite /form dot_scale; lra.
Qed.
End Values.

(* At most twice the norm, at least a quarter of it.
   Part of: lipschitz.single-form. *)
Theorem detour_range (K : finType) (B : K -> K -> R) r e : 0 < r -> 0 <= e ->
  (longest B r e -> detour B r (2 * e)) /\ (detour B r e -> longest B r (4 * e)).
Proof.
move=> r0 e0; split=> [h x y hx hy|h u].
  by rewrite form_minus; have := form_le r0 e0 h hx hy; have := form_ge r0 e0 h hx; lra.
have n0 := norm_ge0 u; have b0 := norm_ge0 (T B u).
case: (Req_dec (norm u) 0) => [z|ne]; first by rewrite (norm_eq0 _ z) z; lra.
case: (Req_dec (norm (T B u)) 0) => [z|ne']; first by rewrite z; have := Rmult_le_pos _ _ e0 n0; lra.
pose x := along (r / 2) u; pose y := along r (T B u).
have hx : norm x = r / 2 by apply: along_norm => //; lra.
have hy : norm y = r by apply: along_norm => //; lra.
have := h x y ltac:(lra) ltac:(lra); rewrite form_minus.
have -> : form B x y = r / 2 / norm u * (r * norm (T B u)) by rewrite form_scale form_along.
have -> : form B x x = (r / 2 / norm u) ^ 2 * form B u u by rewrite form_scale /form dot_scale; ring.
have cs := cauchy_schwarz (T B u) u; rewrite -/(form B u u) in cs.
have k0 := pow2_ge_0 (r / 2 / norm u); have := Rmult_le_compat_l _ _ _ k0 cs.
have -> : (r / 2 / norm u) ^ 2 * (norm (T B u) * norm u) = r ^ 2 * norm (T B u) / norm u / 4 by field.
have -> : r / 2 / norm u * (r * norm (T B u)) = r ^ 2 * norm (T B u) / norm u / 2 by field.
move=> s1 s2; have s3 : r ^ 2 * norm (T B u) / norm u <= 4 * e by lra.
have := Rmult_le_compat_r _ _ _ n0 s3; have -> : r ^ 2 * norm (T B u) / norm u * norm u = r ^ 2 * norm (T B u) by field.
by [].
Qed.

(* A quarter of the norm if the form is symmetric and not negative.
   Part of: lipschitz.single-form. *)
Theorem detour_positive (K : finType) (B : K -> K -> R) r e : 0 < r -> 0 <= e ->
  (forall u v, form B u v = form B v u) -> (forall u, 0 <= form B u u) -> (detour B r e <-> longest B r (4 * e)).
Proof.
move=> r0 e0 sym pos; split=> [|h x y hx hy]; first exact: (proj2 (detour_range B r0 e0)).
have := pos (minus x (fun k => / 2 * y k)); have e4 : 0 <= 4 * e by lra.
have := form_le r0 e4 h hy hy.
have -> : form B (minus x (fun k => / 2 * y k)) (minus x (fun k => / 2 * y k)) =
    form B x x - form B x y + form B y y / 4.
  have l v : form B (minus x (fun k => / 2 * y k)) v = form B x v - / 2 * form B y v.
    have -> : minus x (fun k => / 2 * y k) = fun k => x k + (- / 2) * y k.
      by apply: functional_extensionality => k; rewrite /minus; ring.
    rewrite /form (dot_ext (fun k => T_add B x y (- / 2) k) (fun _ => erefl)) dotDl dotZl; ring.
  by rewrite l /form !dotBr !dot_scale -!/(form _ _ _) (sym y x); field.
by rewrite form_minus; lra.
Qed.

(* The norm if it is skew.
   Part of: lipschitz.single-form. *)
Theorem detour_skew (K : finType) (B : K -> K -> R) r e : 0 < r -> 0 <= e -> (forall u, form B u u = 0) ->
  (detour B r e <-> longest B r e).
Proof.
move=> r0 e0 skew; split=> [h u|h x y hx hy]; last by rewrite form_minus skew; have := form_le r0 e0 h hx hy; lra.
have n0 := norm_ge0 u; case: (Req_dec (norm u) 0) => [z|ne]; first by rewrite (norm_eq0 _ z) z; lra.
case: (Req_dec (norm (T B u)) 0) => [z|ne']; first by rewrite z; have := Rmult_le_pos _ _ e0 n0; lra.
have hx : norm (along r u) = r by apply: along_norm => //; lra.
have hy : norm (along r (T B u)) = r by apply: along_norm => //; lra.
have := h (along r u) (along r (T B u)) ltac:(lra) ltac:(lra); rewrite form_minus skew.
have -> : form B (along r u) (along r (T B u)) = r ^ 2 * norm (T B u) / norm u.
  by rewrite form_scale form_along //; field.
rewrite Rminus_0_r => s; have := Rmult_le_compat_r _ _ _ n0 s.
by have -> : r ^ 2 * norm (T B u) / norm u * norm u = r ^ 2 * norm (T B u) by field.
Qed.

(* Twice the norm for - a I.
   Part of: lipschitz.single-form.
   No twin: an equivalence, which every other number denies. *)
Theorem detour_negative (K : finType) a r e : inhabited K -> 0 <= a -> 0 < r ->
  let B := fun k l : K => if k == l then - a else 0 in
  (forall u, norm (T B u) = a * norm u) /\ (detour B r e <-> 2 * (a * r ^ 2) <= e).
Proof.
move=> [o] a0 r0 B; have TB u l : T B u l = - a * u l.
  rewrite /T (sum_axis (o := l)) /B ?eqxx // => k /negbTE ->; ring.
have nB u : norm (T B u) = a * norm u.
  by rewrite -norm_scale // /norm; congr sqrt; apply: sum_ext => l; rewrite TB; ring.
have fB u v : form B u v = - a * dot u v by rewrite /form -dotZl; apply: dot_ext => // l; rewrite TB.
split=> //; split=> [h|h].
  have n1 : norm (axis o r) <= r by rewrite axis_norm Rabs_pos_eq; lra.
  have n2 : norm (axis o (- r)) <= r by rewrite axis_norm Rabs_Ropp Rabs_pos_eq; lra.
  have := h (axis o r) (axis o (- r)) n1 n2.
  rewrite fB /dot (sum_axis (o := o)) => [|k /negbTE ne]; rewrite /minus /axis ?ne ?eqxx; lra.
have b0 := Rmult_le_pos _ _ a0 (pow2_ge_0 r).
have big : longest B r (a * r ^ 2) by move=> u; rewrite nB; lra.
by move=> x y hx hy; have := proj1 (detour_range B r0 b0) big x y hx hy; lra.
Qed.

(* For every tau a bound: what certificates take, of the largest eigenvalue l r^-2 of tau r^2 B B^T - (B + B^T) / 2.
   Part of: lipschitz.single-form. *)
Theorem detour_dual (K : finType) (B : K -> K -> R) r tau l : 0 < r -> 0 < tau -> 0 <= l ->
  (forall u, tau * r ^ 2 * dot (T B u) (T B u) - form B u u <= l * dot u u) -> detour B r (/ (4 * tau) + l * r ^ 2).
Proof.
move=> r0 t0 l0 h x y hx hy; rewrite form_minus; have cs := cauchy_schwarz (T B x) y; rewrite -/(form B x y) in cs.
have hxx := h x; rewrite -!norm_sq in hxx; set n := norm (T B x) in cs hxx; have n0 : 0 <= n := norm_ge0 _.
have sq : n * r <= tau * r ^ 2 * (n * n) + / (4 * tau).
  have : 0 <= (2 * tau * (n * r) - 1) ^ 2 / (4 * tau).
    by apply: Rmult_le_pos; [apply: pow2_ge_0 | left; apply: Rinv_0_lt_compat; lra].
  have -> : (2 * tau * (n * r) - 1) ^ 2 / (4 * tau) = tau * r ^ 2 * (n * n) + / (4 * tau) - n * r by field; lra.
  by lra.
have : n * norm y <= n * r by apply: Rmult_le_compat_l.
have nx := norm_ge0 x; have : l * (norm x * norm x) <= l * r ^ 2 by apply: Rmult_le_compat_l => //; nra.
by lra.
Qed.

(* Or of how negative the form is.
   No claim: said in proofs/lipschitz.md. *)
Theorem detour_shift (K : finType) (B : K -> K -> R) r e l : 0 < r -> 0 <= e -> 0 <= l -> longest B r e ->
  (forall u, - l * dot u u <= form B u u) -> detour B r (e + l * r ^ 2).
Proof.
move=> r0 e0 l0 h neg x y hx hy; rewrite form_minus; have := form_le r0 e0 h hx hy; have := neg x.
rewrite -norm_sq; have nx := norm_ge0 x; have : l * (norm x * norm x) <= l * r ^ 2.
  by apply: Rmult_le_compat_l => //; nra.
by lra.
Qed.

(* Twin: an exponent two per cent smaller in W_1; a = 2 and the form -2.
   Twin of: attention_W1_detour. *)
Theorem not_detour_near : ~ forall (K I J : finType) (B : K -> K -> R) a e (p : I -> R) (q : J -> R) (x : I -> K -> R)
    (y : J -> K -> R) before after,
  0 <= a -> (forall u, norm (T B u) <= a * norm u) -> detour B 1 e -> law p -> law q -> (forall i, norm (x i) <= 1) ->
  (forall j, norm (y j) <= 1) -> W1 (fun i j => norm (minus (x i) (y j))) p q before ->
  W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after ->
  after <= (exp (98 / 100 * e) * (1 + 2 * a) + a) * before.
Proof.
have lt : exp (98 / 100 * (2 * 2)) * (1 + 2 * 2) + 2 < exp (2 * 2) * (1 + 2 * 2) by interval with (i_prec 40).
have two : 0 <= 2 by lra.
case: (attention_W1_least (inhabits tt) two lt) =>
  I [J [B [p [q [x [y [before [after [hB [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]]]].
have big : detour B 1 (2 * 2).
  by apply: (proj1 (detour_range B Rlt_0_1 two)) => u; rewrite pow1 Rmult_1_l.
by move=> h; have := h _ I J B 2 _ p q x y before after two hB big hp hq hx hy hb ha; lra.
Qed.

(* Twin: the factors of the exponential are one; the form -1.
   Twin of: attention_W1_detour. *)
Theorem not_detour_plain : ~ forall (K I J : finType) (B : K -> K -> R) a e (p : I -> R) (q : J -> R) (x : I -> K -> R)
    (y : J -> K -> R) before after,
  0 <= a -> (forall u, norm (T B u) <= a * norm u) -> detour B 1 e -> law p -> law q -> (forall i, norm (x i) <= 1) ->
  (forall j, norm (y j) <= 1) -> W1 (fun i j => norm (minus (x i) (y j))) p q before ->
  W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after -> after <= (exp e + a) * before.
Proof.
have lt : exp (2 * 1) + 1 < exp (2 * 1) * (1 + 2 * 1) by have := exp_ineq1_le (2 * 1); lra.
have one : 0 <= 1 by lra.
case: (attention_W1_least (inhabits tt) one lt) =>
  I [J [B [p [q [x [y [before [after [hB [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]]]].
have big : detour B 1 (2 * 1).
  by apply: (proj1 (detour_range B Rlt_0_1 one)) => u; rewrite pow1 Rmult_1_l.
by move=> h; have := h _ I J B 1 _ p q x y before after one hB big hp hq hx hy hb ha; lra.
Qed.

(* Twin: two per cent more as a floor; the form -1, for which e^e (1 + e) serves.
   Twin of: attention_W1_detour_least. *)
Theorem not_detour_floor : ~ forall (K : finType) (B : K -> K -> R) e (x y : K -> R) c, inhabited K -> norm x <= 1 ->
  norm y <= 1 -> form B x (minus y x) = e -> 0 <= e -> c < 102 / 100 * (exp e * (1 + e)) ->
  exists (I J : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    law p /\ law q /\ (forall i, norm (x i) <= 1) /\ (forall j, norm (y j) <= 1) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after /\ c * before < after.
Proof.
have one : 0 <= 1 by lra.
have n1 : norm (axis tt 1) <= 1 by rewrite axis_norm Rabs_R1; lra.
have n2 : norm (axis tt (-1)) <= 1 by rewrite axis_norm Rabs_Ropp Rabs_R1; lra.
have two : form (line tt 1) (axis tt 1) (minus (axis tt (-1)) (axis tt 1)) = 2 * 1.
  by rewrite form_line /minus /axis eqxx; ring.
have lt : exp (2 * 1) * (1 + 2 * 1) < 102 / 100 * (exp (2 * 1) * (1 + 2 * 1)) by have := exp_pos (2 * 1); lra.
move=> h; case: (h _ (line tt 1) _ _ _ _ (inhabits tt) n1 n2 two ltac:(lra) lt) =>
  I [J [p [q [x [y [before [after [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]].
by have := attention_W1 one (fun u => line_norm tt u one) hp hq hx hy hb ha; lra.
Qed.

(* Twin: the detours between the atoms of the law alone; atoms 0 and 1 of equal masses, the form 1.
   Twin of: column_detour. *)
Theorem not_detour_of_atoms : ~ forall (K I : finType) (B : K -> K -> R) e (w : I -> R) (z : I -> K -> R) i, law w ->
  (forall i j, form B (z i) (minus (z j) (z i)) <= e) ->
  mean w (fun l => exp (form B (z l) (z i)) / mass w (fun j => form B (z l) (z j))) <= exp e.
Proof.
pose z (b : bool) (_ : unit) := if b then 1 else 0; pose w (_ : bool) := / 2; pose B (_ _ : unit) := 1.
have f b d : form B (z b) (z d) = z b tt * z d tt by rewrite /form /T /dot !sum_unit /B; ring.
move=> h; have := h _ _ B 0 w z true; rewrite /mean /mass /mean !sum_bool !f /z /= !Rmult_0_l !Rmult_0_r.
rewrite Rmult_1_r exp_0.
have hw : law w by split=> [b|]; rewrite ?sum_bool /w; lra.
have e1 : 2 < exp 1 by have := exp_ineq1 1 ltac:(lra); lra.
move=> k; have := k hw; rewrite /w.
have d0 (b d : bool) : form B (z b) (minus (z d) (z b)) <= 0.
  by rewrite form_minus !f /z; case: b; case: d; lra.
move=> /(_ d0); have -> : / 2 * (exp 1 / (/ 2 * exp 1 + / 2 * 1)) = 1 - / (exp 1 + 1) by field; lra.
have : / (exp 1 + 1) < / 2 by apply: Rinv_lt_contravar; lra.
have -> : / 2 * (1 / (/ 2 * 1 + / 2 * 1)) = / 2 by field.
by lra.
Qed.

(* Twin: an eighth of the norm for a positive form; the form 1.
   Twin of: detour_positive. *)
Theorem not_detour_eighth : ~ forall (K : finType) (B : K -> K -> R) r e, 0 < r -> 0 <= e ->
  (forall u v, form B u v = form B v u) -> (forall u, 0 <= form B u u) -> longest B r (8 * e) -> detour B r e.
Proof.
pose B (_ _ : unit) := 1; have f u v : form B u v = u tt * v tt by rewrite /form /T /dot !sum_unit /B; ring.
move=> h; have := h _ B 1 (/ 8) Rlt_0_1 ltac:(lra).
have sym u v : form B u v = form B v u by rewrite !f; ring.
have pos u : 0 <= form B u u by rewrite f; nra.
have one : longest B 1 (8 * / 8) by move=> u; rewrite !norm_unit /T sum_unit /B pow1 !Rmult_1_l; lra.
move=> /(_ sym pos one) k; have := k (fun=> / 2) (fun=> 1); rewrite !norm_unit !Rabs_pos_eq ?f /minus; lra.
Qed.

(* Twin: a quarter of the norm for a form that is negative; the form -1.
   Twin of: detour_range, detour_positive. *)
Theorem not_detour_any_form : ~ forall (K : finType) (B : K -> K -> R) r e, 0 < r -> 0 <= e ->
  (forall u v, form B u v = form B v u) -> longest B r (4 * e) -> detour B r e.
Proof.
have one : 0 <= 1 by lra.
have [n d] := detour_negative (/ 4) (inhabits tt) one Rlt_0_1; set B := fun _ _ => _ in n d.
have f u v : form B u v = - (u tt * v tt) by rewrite /form /T /dot !sum_unit /B /=; ring.
move=> h; have : 2 * (1 * 1 ^ 2) <= / 4; last by lra.
apply: (proj1 d); apply: h; [lra | lra | by move=> u v; rewrite !f; ring | by move=> u; rewrite n; lra].
Qed.

(* Twin: an eighth and not a quarter of 1 / tau; the form 1 and tau = 1.
   Twin of: detour_dual. *)
Theorem not_detour_dual_half : ~ forall (K : finType) (B : K -> K -> R) r tau l, 0 < r -> 0 < tau -> 0 <= l ->
  (forall u, tau * r ^ 2 * dot (T B u) (T B u) - form B u u <= l * dot u u) -> detour B r (/ (8 * tau) + l * r ^ 2).
Proof.
pose B (_ _ : unit) := 1; have f u v : form B u v = u tt * v tt by rewrite /form /T /dot !sum_unit /B; ring.
move=> h; have := h _ B 1 1 0 Rlt_0_1 Rlt_0_1 (Rle_refl 0).
have one u : 1 * 1 ^ 2 * dot (T B u) (T B u) - form B u u <= 0 * dot u u.
  by rewrite f /dot !sum_unit /T sum_unit /B; lra.
by move=> /(_ one) k; have := k (fun=> / 2) (fun=> 1); rewrite !norm_unit !Rabs_pos_eq ?f /minus; lra.
Qed.

(* Twin: at most the norm for any form, as it is for skew ones; the form -1, whose longest detour is twice that.
   Twin of: detour_range, detour_skew. *)
Theorem not_detour_longest : ~ forall (K : finType) (B : K -> K -> R) r e, 0 < r -> 0 <= e -> longest B r e ->
  detour B r e.
Proof.
have one : 0 <= 1 by lra.
have [n d] := detour_negative 1 (inhabits tt) one Rlt_0_1; set B := fun _ _ => _ in n d.
move=> h; have : 2 * (1 * 1 ^ 2) <= 1; last by lra.
by apply: (proj1 d); apply: h; [lra | lra | move=> u; rewrite n; lra].
Qed.
