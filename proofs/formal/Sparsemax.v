(* Sparsemax, which is entmax of order two: the threshold form is the Euclidean projection on the simplex, and
   nothing else is; the threshold exists; the map has Lipschitz constant one; the Fenchel-Young loss vanishes there
   alone.

   Reader's checklist: temperature one, order two; [sparsemax s p] is a relation, that p has the threshold form;
   squares of norms are compared. The claims are about all orders; other orders are in [Entmax]. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype seq fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Sparsemax.
Variable I : finType.
Implicit Types (s t p q : I -> R).

Definition distance2 p q := \sum_i (p i - q i) ^ 2.
Definition threshold s theta i := Rmax (s i - theta) 0.
Definition sparsemax s p := exists theta, (forall i, p i = threshold s theta i) /\ \sum_i p i = 1.

Lemma sparsemax_law s p : sparsemax s p -> law p.
Proof. by case=> theta [e s1]; split=> // i; rewrite e; apply: Rmax_r. Qed.

(* Pythagoras: every law is further from s than p, by at least its distance from p. *)
Theorem pythagoras s p q : sparsemax s p -> law q -> distance2 p s + distance2 q p <= distance2 q s.
Proof.
case=> theta [e s1] [q0 sq].
have h i : (p i - s i) ^ 2 + (q i - p i) ^ 2 - 2 * theta * (q i - p i) <= (q i - s i) ^ 2.
  rewrite e /threshold /Rmax; have := q0 i; case: Rle_dec => [le|_] qi; last by right; ring.
  by have := Rmult_le_pos _ (theta - s i) qi; lra.
have : \sum_i ((p i - s i) ^ 2 + (q i - p i) ^ 2 - 2 * theta * (q i - p i)) <= distance2 q s by apply: sum_le.
by rewrite sumB sumD sumZ sumB sq s1 /distance2; lra.
Qed.

Lemma distance2_ge0 p q : 0 <= distance2 p q.
Proof. by apply: sum_ge0 => i; apply: pow2_ge_0. Qed.

Lemma distance2_eq0 p q : distance2 p q = 0 -> forall i, p i = q i.
Proof.
move=> h i; have := sum_eq0 (fun i => pow2_ge_0 (p i - q i)) h i; nra.
Qed.

(* The projection: nearest among all laws, and unique.
   Part of: entmax.optimal. *)
Theorem projection s p q : sparsemax s p -> law q ->
  distance2 p s <= distance2 q s /\ (distance2 q s <= distance2 p s -> forall i, q i = p i).
Proof.
move=> hp hq; have h := pythagoras hp hq; have g := distance2_ge0 q p; split; first by lra.
by move=> le; apply: distance2_eq0; lra.
Qed.

Lemma continuous_sum (f : I -> R -> R) : (forall i, continuity (f i)) -> continuity (fun x => \sum_i f i x).
Proof.
move=> h.
have : forall r, continuity (fun x => \big[Rplus/0]_(i <- r) f i x).
  elim=> [|i r ih] x.
    apply: (continuity_pt_ext (fun=> 0)); first by move=> y; rewrite big_nil.
    exact: continuity_pt_const.
  apply: (continuity_pt_ext (fun y => f i y + \big[Rplus/0]_(j <- r) f j y)); first by move=> y; rewrite big_cons.
  by apply: continuity_pt_plus; [apply: h | apply: ih].
by apply.
Qed.

(* The threshold lies between max s - 1 and max s. *)
Theorem sparsemax_exists s : inhabited I -> exists p, sparsemax s p.
Proof.
move=> point; case: (largest s point) => m hm.
pose g x := \sum_i threshold s x i - 1.
have cont : continuity (fun x => - g x).
  apply: continuity_opp; apply: continuity_minus; last by apply: continuity_const.
  apply: continuous_sum => i x; rewrite /threshold.
  apply: (continuity_pt_ext (fun y => (s i - y + Rabs (s i - y)) / 2)).
    by move=> y; rewrite /Rmax; case: Rle_dec => h; [rewrite Rabs_left1 | rewrite Rabs_right]; lra.
  by reg.
case: (IVT_cor (fun x => - g x) (s m - 1) (s m) cont) => [|| theta [_ e]]; first by lra.
  have lo : 0 <= g (s m - 1).
    have : threshold s (s m - 1) m <= \sum_i threshold s (s m - 1) i by apply: sum_term => i; apply: Rmax_r.
    by rewrite {1}/threshold Rmax_left /g; lra.
  have hi : g (s m) <= 0.
    rewrite /g big1 => [|i _]; first by lra.
    by rewrite /threshold Rmax_right; have := hm i; lra.
  by nra.
by exists (threshold s theta); exists theta; split=> //; move: e; rewrite /g; lra.
Qed.

(* |sparsemax(s) - sparsemax(t)| <= |s - t|.
   Part of: entmax.lipschitz. *)
Theorem sparsemax_lipschitz s t p q : sparsemax s p -> sparsemax t q -> distance2 p q <= distance2 s t.
Proof.
move=> hp hq; have h1 := pythagoras hp (sparsemax_law hq); have h2 := pythagoras hq (sparsemax_law hp).
have : 0 <= \sum_i (p i - q i - (s i - t i)) ^ 2 by apply: sum_ge0 => i; apply: pow2_ge_0.
have e : distance2 q s + distance2 p t - distance2 p s - distance2 q t = 2 * (\sum_i ((p i - q i) * (s i - t i))).
  by rewrite /distance2 -sumD -!sumB -sumZ; apply: sum_ext => i; ring.
have -> : \sum_i (p i - q i - (s i - t i)) ^ 2 =
  distance2 p q + distance2 s t - 2 * (\sum_i ((p i - q i) * (s i - t i))).
  by rewrite /distance2 -sumD -sumZ -sumB; apply: sum_ext => i; ring.
move: h1 h2 e; have -> : distance2 q p = distance2 p q by apply: sum_ext => i; ring.
by lra.
Qed.

(* The Fenchel-Young loss of Omega = |p|^2 / 2: its conjugate at s is attained at the sparsemax p. *)
Definition loss s p q := (\sum_i (p i * s i) - (\sum_i p i ^ 2) / 2) + (\sum_i q i ^ 2) / 2 - \sum_i (q i * s i).

(* Part of: loss.zero. *)
Theorem fenchel_young s p q : sparsemax s p -> law q ->
  distance2 q p / 2 <= loss s p q /\ (loss s p q = 0 <-> forall i, q i = p i).
Proof.
move=> hp hq; have h := pythagoras hp hq.
have e : 2 * loss s p q = distance2 q s - distance2 p s.
  have -> : distance2 q s - distance2 p s =
    \sum_i (q i ^ 2) - \sum_i p i ^ 2 + 2 * (\sum_i (p i * s i)) - 2 * (\sum_i (q i * s i)).
    by rewrite /distance2 -!sumZ -!sumB -sumD -sumB; apply: sum_ext => i; ring.
  by rewrite /loss; field.
split; first by lra.
split=> [l0|eq]; first by apply: distance2_eq0; have := distance2_ge0 q p; lra.
rewrite /loss; have -> : \sum_i (q i * s i) = \sum_i (p i * s i) by apply: sum_ext => i; rewrite eq.
by have -> : \sum_i q i ^ 2 = \sum_i p i ^ 2; [apply: sum_ext => i; rewrite eq | ring].
Qed.
End Sparsemax.

(* Twin: no smaller constant; the vertices are their own images.
   Twin of: sparsemax_lipschitz. *)
Theorem not_lipschitz_near : ~ forall (I : finType) (s t p q : I -> R), sparsemax s p -> sparsemax t q ->
  distance2 p q <= 99 / 100 * distance2 s t.
Proof.
pose x (b : bool) := if b then 1 else 0; pose y (b : bool) := if b then 0 else 1.
have hx : sparsemax x x.
  exists 0; split=> [b|]; last by rewrite big_bool /=; ring.
  by rewrite /threshold Rminus_0_r Rmax_left // /x; case: b; lra.
have hy : sparsemax y y.
  exists 0; split=> [b|]; last by rewrite big_bool /=; ring.
  by rewrite /threshold Rminus_0_r Rmax_left // /y; case: b; lra.
by move=> h; have := h [finType of bool] x y x y hx hy; rewrite /distance2 !big_bool /x /y /=; lra.
Qed.

(* Twin: the loss is not bounded below by more than half of the squared distance; the vertices of two scores.
   Twin of: fenchel_young. *)
Theorem not_loss_near : ~ forall (I : finType) (s p q : I -> R), sparsemax s p -> law q ->
  51 / 100 * distance2 q p <= loss s p q.
Proof.
pose x (b : bool) := if b then 1 else 0.
have hx : sparsemax x x.
  exists 0; split=> [b|]; last by rewrite big_bool /=; ring.
  by rewrite /threshold Rminus_0_r Rmax_left // /x; case: b; lra.
have hq : law (fun b : bool => if b then 0 else 1) by split=> [[]|]; rewrite ?big_bool /=; lra.
by move=> h; have := h [finType of bool] x x _ hx hq; rewrite /distance2 /loss !big_bool /x /=; lra.
Qed.

(* Twin: positive scores divided by their sum; scores 2 and 1, to which (1, 0) is nearer than (2/3, 1/3).
   Twin of: projection. *)
Theorem not_projection_rescaled : ~ forall (I : finType) (s q : I -> R), (forall i, 0 < s i) -> law q ->
  distance2 (fun i => s i / \sum_j s j) s <= distance2 q s.
Proof.
pose s (b : bool) := if b then 2 else 1; pose q (b : bool) := if b then 1 else 0.
have hq : law q by split=> [[]|]; rewrite ?big_bool /q /=; lra.
move=> h; have := h _ s q _ hq; rewrite /distance2 !big_bool /s /q /= => k.
by have := k ltac:(by case; lra); lra.
Qed.
