(* What W_1 says of means and of tokens that are moved: a shift of the mean is a lower bound, the mean displacement
   an upper one, and both agree for a translation.

   Reader's checklist: [W1 C p q w] of [Transport] says that w is the least cost; costs are Euclidean distances in
   any dimension; laws have finitely many atoms. gibbs.projection is about any moments, here are barycentres. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Euclid Transport.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Displacement.
Variables (I J K : finType).
Implicit Types (x : I -> K -> R) (y : J -> K -> R) (p : I -> R) (q : J -> R).

(* Means are no further apart than the laws: the constant one of the projection to the barycentre.
   Part of: gibbs.projection. *)
Theorem barycentres p q x y w : W1 (fun i j => norm (fun k => x i k - y j k)) p q w ->
  norm (fun k => mean p (fun i => x i k) - mean q (fun j => y j k)) <= w.
Proof.
move=> [_ greatest]; set z := fun k => _; apply: greatest => g hg.
have c0 : 0 <= cost (fun i j => norm (fun k => x i k - y j k)) g.
  by apply: sum_ge0 => i; apply: sum_ge0 => j; apply: Rmult_le_pos; [apply: (proj1 hg) | apply: norm_ge0].
apply: norm_le => //.
have -> : dot z z = dual p q (fun i => dot (x i) z) (fun j => -1 * dot (y j) z).
  by rewrite {1}/z dotBl !dot_mean /dual meanZ; ring.
rewrite (dual_as_cost _ _ hg) /cost -sumZr; apply: sum_le => i; rewrite -sumZr; apply: sum_le => j.
rewrite Rmult_assoc; apply: Rmult_le_compat_l; first exact: (proj1 hg).
have -> : dot (x i) z + -1 * dot (y j) z = dot (fun k => x i k - y j k) z by rewrite dotBl; ring.
exact: cauchy_schwarz.
Qed.
End Displacement.

Section Moved.
Variables (I K : finType).
Implicit Types (x y : I -> K -> R) (p : I -> R).

Lemma stay_coupling p : law p -> coupling p p (fun i j => if j == i then p i else 0).
Proof.
move=> hp; split; [|split] => [i j|i|j].
- by case: eqP => _; [apply: (proj1 hp) | lra].
- by rewrite -big_mkcond big_pred1_eq.
by rewrite -big_mkcond (big_pred1 j) // => i; rewrite eq_sym.
Qed.

(* Atoms that are moved, each by itself: the mean displacement bounds the distance, the shift of the mean is a lower
   bound.
   Part of: transport.displacement. *)
Theorem displacement p x y w : law p -> W1 (fun i j => norm (fun k => x i k - y j k)) p p w ->
  norm (fun k => mean p (fun i => x i k) - mean p (fun i => y i k)) <= w <=
    mean p (fun i => norm (fun k => x i k - y i k)).
Proof.
move=> hp hw; split; first exact: barycentres hw.
apply: Rle_trans (proj1 hw _ (stay_coupling hp)) _; apply: sum_le => i; right.
have -> : \sum_j ((if j == i then p i else 0) * norm (fun k => x i k - y j k)) =
    \sum_j (if j == i then p i * norm (fun k => x i k - y j k) else 0).
  by apply: sum_ext => j; case: (j == i); ring.
by rewrite -big_mkcond big_pred1_eq.
Qed.

(* A translated law lies at the length of the shift.
   Part of: distance.translation. *)
Theorem translation p x (t : K -> R) w : law p -> W1 (fun i j => norm (fun k => x i k - (x j k - t k))) p p w ->
  w = norm t.
Proof.
move=> hp hw; have [lo hi] := displacement (y := fun i k => x i k - t k) hp hw.
have e1 : norm (fun k => mean p (fun i => x i k) - mean p (fun i => x i k - t k)) = norm t.
  apply: norm_ext => k; have -> : mean p (fun i => x i k - t k) = mean p (fun i => x i k + -1 * t k).
    by apply: mean_ext => i; ring.
  by rewrite meanD (mean_const _ hp); ring.
have e2 : mean p (fun i => norm (fun k => x i k - (x i k - t k))) = norm t.
  rewrite -[RHS](mean_const _ hp); apply: mean_ext => i; apply: norm_ext => k; ring.
by rewrite e1 in lo; rewrite e2 in hi; lra.
Qed.

(* Without the projection a transport keeps the mean and has the larger variance: the variance of the images is that of
   the images of the mean and what the rows spread.
   Part of: transport.convex-order. *)
Theorem convex_order p (P : I -> I -> R) (f : I -> R) : law p -> (forall i, law (P i)) ->
  let image := fun i => mean (P i) f in let after := fun j => \sum_i (p i * P i j) in
  mean after f = mean p image /\ variance p image <= variance after f.
Proof.
move=> hp hP image after.
have push g : mean after g = mean p (fun i => mean (P i) g).
  rewrite /mean; have -> : \sum_j (after j * g j) = \sum_j \sum_i (p i * (P i j * g j)).
    by apply: sum_ext => j; rewrite /after -sumZr; apply: sum_ext => i; ring.
  by rewrite sum_exchange; apply: sum_ext => i; rewrite sumZ.
split; first by rewrite push.
have ha : law after.
  split=> [j|]; first by apply: sum_ge0 => i; apply: Rmult_le_pos; [apply: (proj1 hp) | apply: (proj1 (hP i))].
  by rewrite /after sum_exchange -(proj2 hp); apply: sum_ext => i; rewrite sumZ (proj2 (hP i)); ring.
rewrite !variance_raw // !push -/image.
suff : mean p (fun i => image i ^ 2) <= mean p (fun i => mean (P i) (fun j => f j ^ 2)).
  by lra.
apply: mean_le => // i; have := variance_ge0 f (hP i); rewrite variance_raw // -/(image i); lra.
Qed.
End Moved.

(* Twin: the translation measured by the sum of the coordinates, (3, 4) in the plane.
   Twin of: translation. *)
Theorem not_taxicab : ~ forall (I K : finType) (p : I -> R) (x : I -> K -> R) (t : K -> R) w, law p ->
  W1 (fun i j => norm (fun k => x i k - (x j k - t k))) p p w -> w = \sum_k Rabs (t k).
Proof.
have one : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite (big_pred1 tt) //; case].
move=> h; pose t (b : bool) := if b then 3 else 4.
case: (W1_exists (C := fun _ _ : unit => norm (fun k => 0 - (0 - t k))) one one) => [i j|w hw]; first exact: norm_ge0.
have e := h [finType of unit] [finType of bool] (fun=> 1) (fun _ _ => 0) t w one hw.
have := translation (x := fun _ _ => 0) one hw; rewrite e big_bool /norm /dot big_bool /t /= !Rabs_pos_eq; try lra.
by have -> : 3 * 3 + 4 * 4 = 5 * 5 by [ring]; rewrite sqrt_square; lra.
Qed.

(* Twin: the shift of the mean exceeds a bound that is one per cent shorter, one atom moved by one.
   Twin of: displacement. *)
Theorem not_shorter : ~ forall (I K : finType) (p : I -> R) (x y : I -> K -> R) w, law p ->
  W1 (fun i j => norm (fun k => x i k - y j k)) p p w ->
  w <= 99 / 100 * mean p (fun i => norm (fun k => x i k - y i k)).
Proof.
have one : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite (big_pred1 tt) //; case].
move=> h; case: (W1_exists (C := fun _ _ : unit => norm (fun _ : unit => 1 - 0)) one one) => [i j|w hw].
  exact: norm_ge0.
have := h [finType of unit] [finType of unit] (fun=> 1) (fun _ _ => 1) (fun _ _ => 0) w one hw.
have [+ _] := displacement (x := fun _ _ => 1) (y := fun _ _ => 0) one hw.
have -> : norm (fun k : unit => mean (fun=> 1) (fun _ : unit => 1) - mean (fun=> 1) (fun _ : unit => 0)) = 1.
  by rewrite !(mean_const _ one) /norm /dot (big_pred1 tt) /=; [rewrite Rminus_0_r Rmult_1_l sqrt_1 | case].
have -> : mean (fun=> 1) (fun _ : unit => norm (fun _ : unit => 1 - 0)) = 1.
  by rewrite (mean_const _ one) /norm /dot (big_pred1 tt) /=; [rewrite Rminus_0_r Rmult_1_l sqrt_1 | case].
by lra.
Qed.

(* Twin: the order the other way round; equal weights, rows that forget.
   Twin of: convex_order. *)
Theorem not_convex_order_reversed : ~ forall (I : finType) (p : I -> R) (P : I -> I -> R) (f : I -> R), law p ->
  (forall i, law (P i)) -> variance (fun j => \sum_i (p i * P i j)) f <= variance p (fun i => mean (P i) f).
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
move=> h; have := h [finType of bool] _ (fun _ _ => / 2) (fun b => if b then 1 else 0) half (fun=> half).
by rewrite /variance /mean !big_bool /=; lra.
Qed.

(* Twin: one per cent less; one atom moved by one.
   Twin of: barycentres. *)
Theorem not_barycentres_near : ~ forall (I J K : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R)
    (y : J -> K -> R) w, W1 (fun i j => norm (fun k => x i k - y j k)) p q w ->
  norm (fun k => mean p (fun i => x i k) - mean q (fun j => y j k)) <= 99 / 100 * w.
Proof.
have one : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite (big_pred1 tt) //; case].
have s1 (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
move=> h; case: (W1_exists (C := fun _ _ : unit => norm (fun _ : unit => 1 - 0)) one one) => [i j|w hw].
  exact: norm_ge0.
have := h _ _ _ (fun=> 1) (fun=> 1) (fun _ _ => 1) (fun _ _ => 0) w hw; rewrite !(mean_const _ one).
have : w <= 1.
  apply: Rle_trans (proj1 hw _ (product_coupling one one)) _.
  by rewrite /cost /norm /dot !s1 Rminus_0_r !Rmult_1_l sqrt_1; lra.
have [low _] := displacement (x := fun _ _ => 1) (y := fun _ _ => 0) one hw.
by move: low; rewrite !(mean_const _ one) /norm /dot !s1 Rminus_0_r Rmult_1_l sqrt_1; lra.
Qed.
