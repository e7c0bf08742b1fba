(* The sharp W_1 constant for tokens in a ball of any radius r and any value matrix: v e^(2a) (1 + 2a) with a = b
   r^2, where b and v are norms of the form and of the value matrix.

   Reader's checklist: as in [SharpW1]; [apply_matrix V u] is V u. That no smaller constant serves is in [Least] for
   r = 1 and V = I. The claim is about all laws on the ball, here they have finitely many atoms. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Attention Require Import Finite Euclid Tilt Transport SharpW1.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

(* The least cost grows with the costs. *)
Lemma W1_le (I J : finType) (C C' : I -> J -> R) a b w w' k : law a -> law b -> 0 <= k ->
  (forall i j, C i j <= k * C' i j) -> W1 C a b w -> W1 C' a b w' -> w <= k * w'.
Proof.
move=> ha hb k0 h [lower _] [_ greatest'].
have le g : coupling a b g -> w <= k * cost C' g.
  move=> hg; apply: (Rle_trans _ _ _ (lower g hg)); rewrite /cost -sumZ; apply: sum_le => i.
  rewrite -sumZ; apply: sum_le => j; have := Rmult_le_compat_l _ _ _ (proj1 hg i j) (h i j); lra.
case: k0 => [k0|k0].
  have : w / k <= w'.
    apply: greatest' => g hg; apply: (Rmult_le_reg_l k) => //.
    by have -> : k * (w / k) = w by [field; lra]; apply: le.
  by move=> q; have := Rmult_le_compat_l k _ _ (Rlt_le _ _ k0) q; have -> : k * (w / k) = w by field; lra.
by have := le _ (product_coupling ha hb); rewrite -k0; lra.
Qed.

Section Norm.
Variable K : finType.
Implicit Types u : K -> R.

Lemma norm_scale c u : 0 <= c -> norm (fun k => c * u k) = c * norm u.
Proof.
move=> c0; rewrite /norm; have -> : dot (fun k => c * u k) (fun k => c * u k) = (c * c) * dot u u.
  by rewrite /dot -sumZ; apply: sum_ext => k; ring.
by rewrite sqrt_mult; [rewrite sqrt_square | nra | apply: dot_ge0].
Qed.
End Norm.

Definition apply_matrix (K L : finType) (V : L -> K -> R) (u : K -> R) (l : L) := \sum_k (V l k * u k).

(* The output for tokens of a ball of radius r, by that of the unit ball, where the form is r^2 times as large. *)
Lemma output_scaled (K M : finType) (B : K -> K -> R) (w : M -> R) (z : M -> K -> R) i r : 0 < r ->
  output B w z (z i) =
  fun k => r * output (fun k l => r ^ 2 * B k l) w (fun j k => / r * z j k) (fun k => / r * z i k) k.
Proof.
move=> r0; apply: functional_extensionality => k; rewrite /output /centre /seen.
set B' := fun k l => r ^ 2 * B k l.
have -> : (fun j => form B' (fun k => / r * z i k) (fun k => / r * z j k)) = (fun j => form B (z i) (z j)).
  apply: functional_extensionality => j; rewrite /form /dot /T; apply: sum_ext => l.
  rewrite -!sumZr; apply: sum_ext => m; rewrite /B'; field; lra.
by rewrite -meanZ; apply: mean_ext => j; field; lra.
Qed.

(* A constant for r^2 B on the unit ball serves for B on the ball of radius r, times the norm of V; costs are lengths,
   or powers of them. *)
Lemma scaled (K L I J : finType) (f : R -> R) (B : K -> K -> R) (V : L -> K -> R) C v r (p : I -> R) (q : J -> R)
  (x : I -> K -> R) (y : J -> K -> R) before after :
  0 < r -> 0 <= v -> 0 <= C -> (forall s t, 0 <= s <= t -> 0 <= f s <= f t) ->
  (forall s t, 0 <= s -> 0 <= t -> f (s * t) = f s * f t) ->
  (forall (x : I -> K -> R) (y : J -> K -> R) before after, let B' := fun k l => r ^ 2 * B k l in
    (forall i, norm (x i) <= 1) -> (forall j, norm (y j) <= 1) ->
    W1 (fun i j => f (norm (minus (x i) (y j)))) p q before ->
    W1 (fun i j => f (norm (minus (output B' p x (x i)) (output B' q y (y j))))) p q after -> after <= C * before) ->
  (forall u, norm (apply_matrix V u) <= v * norm u) ->
  law p -> law q -> (forall i, norm (x i) <= r) -> (forall j, norm (y j) <= r) ->
  W1 (fun i j => f (norm (minus (x i) (y j)))) p q before ->
  W1 (fun i j => f (norm (minus (apply_matrix V (output B p x (x i))) (apply_matrix V (output B q y (y j)))))) p q
    after ->
  after <= f v * C * before.
Proof.
move=> r0 v0 C0 up mult unit hV hp hq hx hy hbefore hafter.
have f0 s : 0 <= s -> 0 <= f s by move=> s0; apply: (proj1 (up s s _)); lra.
have i0 : 0 <= / r by left; apply: Rinv_0_lt_compat.
pose x' i k := / r * x i k; pose y' j k := / r * y j k; pose B' k l := r ^ 2 * B k l.
have ball (M : finType) (z : M -> K -> R) i : norm (z i) <= r -> norm (fun k => / r * z i k) <= 1.
  by move=> h; rewrite norm_scale //; have := Rmult_le_compat_l _ _ _ i0 h; rewrite Rinv_l; lra.
have same (M : finType) (w : M -> R) (z : M -> K -> R) i := output_scaled B w z i r0.
case: (W1_exists (C := fun i j => f (norm (minus (x' i) (y' j)))) hp hq) => [i j|before' hb'].
  exact: f0 (norm_ge0 _).
case: (W1_exists (C := fun i j => f (norm (minus (output B' p x' (x' i)) (output B' q y' (y' j))))) hp hq) =>
  [i j|after' ha']; first exact: f0 (norm_ge0 _).
have main := unit x' y' _ _ (fun i => ball _ x i (hx i)) (fun j => ball _ y j (hy j)) hb' ha'.
have l1 : before' <= f (/ r) * before.
  apply: (W1_le hp hq (f0 _ i0) _ hb' hbefore) => i j; rewrite -mult //; last exact: norm_ge0.
  rewrite -norm_scale //; right; congr f; apply: norm_ext => k; by rewrite /minus /x' /y'; ring.
have l2 : after <= f v * f r * after'.
  have vr := Rmult_le_pos _ _ (f0 v v0) (f0 r (Rlt_le _ _ r0)).
  apply: (W1_le hp hq vr _ hafter ha') => i j.
  have -> : minus (apply_matrix V (output B p x (x i))) (apply_matrix V (output B q y (y j))) =
      apply_matrix V (fun k => r * minus (output B' p x' (x' i)) (output B' q y' (y' j)) k).
    apply: functional_extensionality => l; rewrite /minus /apply_matrix -sumB; apply: sum_ext => k.
    by rewrite (same _ p x i) (same _ q y j) /x' /y' /B'; ring.
  have n0 := norm_ge0 (minus (output B' p x' (x' i)) (output B' q y' (y' j))).
  rewrite Rmult_assoc -(mult r) ?(Rlt_le _ _ r0) //; last by left.
  rewrite -mult //; last by apply: Rmult_le_pos; lra.
  apply: (proj2 (up _ _ _)); split; first exact: norm_ge0.
  by rewrite -norm_scale; [apply: hV | lra].
have one : f r * f (/ r) = f 1 by rewrite -mult //; [rewrite Rinv_r //; lra | lra].
have v1 : f v * f 1 = f v by rewrite -mult ?Rmult_1_r //; lra.
apply: (Rle_trans _ _ _ l2); apply: (Rle_trans _ (f v * f r * (C * (f (/ r) * before)))).
  apply: Rmult_le_compat_l; first by apply: Rmult_le_pos; apply: f0; lra.
  by apply: Rle_trans main _; apply: Rmult_le_compat_l.
by right; rewrite -{2}v1 -one; ring.
Qed.

(* The norm of the form of the scaled tokens. *)
Lemma norm_scaled (K : finType) (B : K -> K -> R) b r u : (forall u, norm (T B u) <= b * norm u) ->
  norm (T (fun k l => r ^ 2 * B k l) u) <= b * r ^ 2 * norm u.
Proof.
move=> hB; have rr0 : 0 <= r ^ 2 by apply: pow2_ge_0.
have -> : T (fun k l => r ^ 2 * B k l) u = fun l => r ^ 2 * T B u l.
  by apply: functional_extensionality => l; rewrite /T -sumZ; apply: sum_ext => k; ring.
by rewrite norm_scale //; have := Rmult_le_compat_l _ _ _ rr0 (hB u); lra.
Qed.

(* The theorem of [SharpW1] for every radius and value matrix.
   Part of: lipschitz.sharp-w1. *)
Theorem attention_W1_scaled (K L I J : finType) (B : K -> K -> R) (V : L -> K -> R) b v r (p : I -> R) (q : J -> R)
  (x : I -> K -> R) (y : J -> K -> R) before after :
  0 < r -> 0 <= b -> 0 <= v ->
  (forall u, norm (T B u) <= b * norm u) -> (forall u, norm (apply_matrix V u) <= v * norm u) ->
  law p -> law q -> (forall i, norm (x i) <= r) -> (forall j, norm (y j) <= r) ->
  W1 (fun i j => norm (minus (x i) (y j))) p q before ->
  W1 (fun i j => norm (minus (apply_matrix V (output B p x (x i))) (apply_matrix V (output B q y (y j))))) p q after ->
  after <= v * (exp (2 * (b * r ^ 2)) * (1 + 2 * (b * r ^ 2))) * before.
Proof.
move=> r0 b0 v0 hB hV hp hq; have a0 := Rmult_le_pos _ _ b0 (pow2_ge_0 r).
apply: (scaled (f := fun t => t)) => // [|x' y' before' after' B' hx hy].
  by apply: Rmult_le_pos; [left; apply: exp_pos | lra].
by apply: attention_W1 => // u; exact: norm_scaled.
Qed.
