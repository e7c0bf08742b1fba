(* The certificate of W_1 (docstring of theory.distance.w1; needs no solver).

   For laws a on I and b on J and costs C every coupling is an upper bound, every feasible pair of potentials is a lower
   bound, and the transform of any potential is feasible. Reader's checklist: [W1 C a b w] says that w is the greatest
   lower bound of the costs of couplings, [W1_exists] that there is one for costs that are not negative; that it is
   attained, and that some potentials attain it, is in [Duality]. Couplings are of indices, which for repeated atoms
   gives the same least cost as couplings of laws. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Transport.
Variables I J : finType.
Implicit Types (a u : I -> R) (b v : J -> R) (C g : I -> J -> R).

Definition coupling a b g :=
  (forall i j, 0 <= g i j) /\ (forall i, \sum_j g i j = a i) /\ (forall j, \sum_i g i j = b j).
Definition cost C g := \sum_i \sum_j (g i j * C i j).
Definition feasible C u v := forall i j, u i + v j <= C i j.
Definition dual a b u v := mean a u + mean b v.

(* w is the least cost: no coupling is cheaper, and nothing larger has that property. *)
Definition W1 C a b w :=
  (forall g, coupling a b g -> w <= cost C g) /\ (forall z, (forall g, coupling a b g -> z <= cost C g) -> z <= w).

Lemma dual_as_cost a b g u v : coupling a b g -> dual a b u v = cost (fun i j => u i + v j) g.
Proof.
case=> _ [ga gb].
have -> : cost (fun i j => u i + v j) g = \sum_i \sum_j (g i j * u i) + \sum_i \sum_j (g i j * v j).
  by rewrite /cost -sumD; apply: sum_ext => i; rewrite -sumD; apply: sum_ext => j; ring.
rewrite [X in _ = _ + X]sum_exchange /dual /mean; congr (_ + _); apply: sum_ext => k; by rewrite sumZr ?ga ?gb.
Qed.

(* Part of: distance.stopped-early. *)
Theorem weak_duality C a b g u v : coupling a b g -> feasible C u v -> dual a b u v <= cost C g.
Proof.
move=> hg huv; rewrite (dual_as_cost u v hg); apply: sum_le => i; apply: sum_le => j.
by apply: Rmult_le_compat_l; [apply: (proj1 hg) | apply: huv].
Qed.

(* Independent atoms are a coupling, so that there is one; and costs are nonnegative, so that W_1 exists. *)
Lemma product_coupling a b : law a -> law b -> coupling a b (fun i j => a i * b j).
Proof.
move=> [ha sa] [hb sb]; split; [|split] => [i j|i|j]; first exact: Rmult_le_pos.
  by rewrite sumZ sb; ring.
by rewrite sumZr sa; ring.
Qed.

(* There is a least cost. No claim. *)
Theorem W1_exists C a b : law a -> law b -> (forall i j, 0 <= C i j) -> exists w, W1 C a b w.
Proof.
move=> ha hb hC; pose E z := exists g, coupling a b g /\ z = - cost C g.
have bounded : bound E.
  exists 0 => z [g [[g0 _] ->]]; suff : 0 <= cost C g by lra.
  by apply: sum_ge0 => i; apply: sum_ge0 => j; apply: Rmult_le_pos.
have nonempty : exists z, E z by exists (- cost C (fun i j => a i * b j)); exists (fun i j => a i * b j); split=> //;
  apply: product_coupling.
case: (completeness E bounded nonempty) => m [up least]; exists (- m); split=> [g hg|z hz].
  by have := up (- cost C g) (ex_intro _ g (conj hg erefl)); lra.
suff : m <= - z by lra.
by apply: least => y [g [hg ->]]; have := hz g hg; lra.
Qed.

(* What the suite computes: costs rounded down and up, any potential u, its transform rounded down, any coupling.
   Part of: distance.stopped-early. *)
Theorem certificate Clo C Chi a b u v g w :
  (forall i j, Clo i j <= C i j <= Chi i j) -> (forall i j, v j <= Clo i j - u i) ->
    coupling a b g ->
  W1 C a b w -> dual a b u v <= w <= cost Chi g.
Proof.
move=> hC hv hg [lower greatest]; split.
  apply: greatest => h hh; apply: weak_duality => // i j; have := hv i j; have := hC i j; lra.
apply: (Rle_trans _ (cost C g)); first exact: lower.
by apply: sum_le => i; apply: sum_le => j; apply: Rmult_le_compat_l; [apply: (proj1 hg) | have := hC i j; lra].
Qed.
End Transport.

(* Kantorovich and Rubinstein, the easy half: a function of slope one cannot tell two clouds further apart than W_1.
   Part of: distance.large. *)
Theorem slope_one (I J : finType) (X : Type) (d : X -> X -> R) (x : I -> X) (y : J -> X) a b (f : X -> R) w :
  (forall p q, f p - f q <= d p q) -> W1 (fun i j => d (x i) (y j)) a b w ->
  mean a (fun i => f (x i)) - mean b (fun j => f (y j)) <= w.
Proof.
move=> hf [_ greatest]; apply: greatest => g hg.
have := weak_duality hg (C := fun i j => d (x i) (y j)) (u := fun i => f (x i)) (v := fun j => - f (y j)).
have -> : dual a b (fun i => f (x i)) (fun j => - f (y j)) = mean a (fun i => f (x i)) - mean b (fun j => f (y j)).
  rewrite /dual; have -> : mean b (fun j => - f (y j)) = -1 * mean b (fun j => f (y j)); last by lra.
  by rewrite -meanZ; apply: mean_ext => j; ring.
by apply=> i j; have := hf (x i) (y j); lra.
Qed.

(* Twin: potentials that are not feasible are no bound; one atom, cost zero, potential one.
   Twin of: weak_duality, certificate. *)
Theorem not_weak_duality_infeasible : ~ forall (I J : finType) (C g : I -> J -> R) a b u v, coupling a b g ->
  dual a b u v <= cost C g.
Proof.
have e (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
move=> h; have := h [finType of unit] [finType of unit] (fun _ _ => 0) (fun _ _ => 1) (fun=> 1) (fun=> 1) (fun=> 1)
  (fun=> 0).
rewrite /dual /mean /cost !e => k; suff : 1 * 1 + 1 * 0 <= 1 * 0 by lra.
by apply: k; split; [move=> i j; lra | split=> i; rewrite e].
Qed.

(* Twin: a function of slope two; one atom at 1 and one at 0.
   Twin of: slope_one. *)
Theorem not_slope_two : ~ forall (I J : finType) (X : Type) (d : X -> X -> R) (x : I -> X) (y : J -> X) a b (f : X -> R)
    w,
  (forall p q, f p - f q <= 2 * d p q) -> W1 (fun i j => d (x i) (y j)) a b w ->
  mean a (fun i => f (x i)) - mean b (fun j => f (y j)) <= w.
Proof.
have e (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
have one : law (fun _ : unit => 1) by split=> [_|]; [lra | rewrite e].
pose d s t := Rabs (s - t).
case: (W1_exists (C := fun _ _ : unit => d 1 0) one one) => [i j|w hw]; first exact: Rabs_pos.
have le := proj1 hw _ (product_coupling one one); rewrite /cost !e /d Rminus_0_r Rabs_R1 in le.
move=> h; have := h unit_finType unit_finType R d (fun=> 1) (fun=> 0) (fun=> 1) (fun=> 1) (fun s => 2 * s) w.
move=> /(_ (fun s t => ltac:(have := Rle_abs (s - t); rewrite /d; lra))) /(_ hw); rewrite /mean !e; lra.
Qed.
