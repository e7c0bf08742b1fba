(* Laws with prescribed means: the tilt that has them is the nearest to the reference, and the dual problem.

   Reader's checklist: [gibbs_law q x] of [Prior] is q_i exp(x_i) / sum_j q_j exp(x_j), and [along l phi] is the
   potential sum_m l_m phi_m(i); laws have finitely many atoms; that multipliers exist, which is what interior means
   are for, is not here but a hypothesis: the tilt has the means. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Softmax Prior.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Moments.
Variables I M : finType.
Implicit Types (p q : I -> R) (phi : M -> I -> R) (l : M -> R).

Definition along l phi i := \sum_m (l m * phi m i).

Lemma mean_along p l phi : mean p (along l phi) = \sum_m (l m * mean p (phi m)).
Proof.
rewrite /mean /along; have -> : \sum_i (p i * \sum_m (l m * phi m i)) = \sum_i \sum_m (l m * (p i * phi m i)).
  by apply: sum_ext => i; rewrite -sumZ; apply: sum_ext => m; ring.
by rewrite sum_exchange; apply: sum_ext => m; rewrite sumZ.
Qed.

Lemma tilt_dominated q a : law q -> dominated (gibbs_law q a) q.
Proof. by move=> _ i e; rewrite /gibbs_law e /Rdiv; ring. Qed.

Lemma dominated_tilt q a p : law q -> dominated p q -> dominated p (gibbs_law q a).
Proof.
move=> hq pq i e; apply: pq; have z := gibbs_sum_gt0 a hq; have x := exp_pos (a i).
apply: (Rmult_eq_reg_r (exp (a i) / gibbs_sum q a)); last by have := Rdiv_lt_0_compat _ _ x z; lra.
by rewrite Rmult_0_l -e /gibbs_law; field; lra.
Qed.

Lemma KL_self q a : law q -> KL (gibbs_law q a) (gibbs_law q a) = 0.
Proof.
move=> hq; have h := gibbs_law_law a hq; apply/(KL_eq0_dominated h h) => // i; by [].
Qed.

(* Any law against the tilt, means whatever. *)
Lemma divergence_gap q l phi p : law q -> law p -> dominated p q -> let t := gibbs_law q (along l phi) in
  KL p q - KL t q = KL p t + \sum_m (l m * (mean p (phi m) - mean t (phi m))).
Proof.
move=> hq hp pq t; have ht : law t := gibbs_law_law _ hq.
have g := reference_gap (along l phi) hq hp pq.
have g' := reference_gap (along l phi) hq ht (@tilt_dominated q (along l phi) hq).
rewrite -/t KL_self // in g g'; rewrite !mean_along in g g'.
have -> : \sum_m (l m * (mean p (phi m) - mean t (phi m))) =
  \sum_m (l m * mean p (phi m)) - \sum_m (l m * mean t (phi m)) by rewrite -sumB; apply: sum_ext => m; ring.
by lra.
Qed.

(* The tilt with the prescribed means is the nearest to the reference, and alone.
   Part of: maxent.moment, maxent.duality, maxent.vector. *)
Theorem nearest q l phi p : law q -> law p -> dominated p q -> let t := gibbs_law q (along l phi) in
  (forall m, mean p (phi m) = mean t (phi m)) ->
  KL p q - KL t q = KL p t /\ 0 <= KL p t /\ (KL p q = KL t q <-> forall i, p i = t i).
Proof.
move=> hq hp pq t h; have ht : law t := gibbs_law_law _ hq; have pt := @dominated_tilt q (along l phi) p hq pq.
have z : \sum_m (l m * (mean p (phi m) - mean t (phi m))) = 0 by rewrite big1 // => m _; rewrite h; ring.
have e : KL p q - KL t q = KL p t + \sum_m (l m * (mean p (phi m) - mean t (phi m))) := divergence_gap _ _ hq hp pq.
rewrite z in e.
split; [lra | split; first exact: KL_ge0_dominated].
by rewrite -(KL_eq0_dominated hp ht pt) -/t; split; lra.
Qed.

(* Means of at least the prescribed ones, multipliers that are not negative.
   Part of: maxent.relaxed. *)
Theorem nearest_relaxed q l phi p : law q -> law p -> dominated p q -> let t := gibbs_law q (along l phi) in
  (forall m, 0 <= l m) -> (forall m, mean t (phi m) <= mean p (phi m)) -> KL t q <= KL p q.
Proof.
move=> hq hp pq t l0 h; have ht : law t := gibbs_law_law _ hq; have pt := @dominated_tilt q (along l phi) p hq pq.
have e : KL p q - KL t q = KL p t + \sum_m (l m * (mean p (phi m) - mean t (phi m))) := divergence_gap _ _ hq hp pq.
have k := KL_ge0_dominated hp ht pt.
have : 0 <= \sum_m (l m * (mean p (phi m) - mean t (phi m))).
  by apply: sum_ge0 => m; apply: Rmult_le_pos => //; have := h m; lra.
by lra.
Qed.

(* The dual: every multiplier bounds the entropy under the moments from above, by a divergence; the right one attains
   it.
   Part of: maxent.duality. *)
Theorem moment_duality phi p mu : law p -> (forall m, mean p (phi m) = mu m) ->
  let dual l := lse (along l phi) - \sum_m (l m * mu m) in
  (forall l, dual l - entropy p = KL p (softmax (along l phi))) /\ (forall l, entropy p <= dual l) /\
  (forall l, (forall m, mean (softmax (along l phi)) (phi m) = mu m) ->
    entropy (softmax (along l phi)) = dual l /\ forall l', dual l <= dual l').
Proof.
move=> hp hm dual; have one : 0 < 1 by lra.
have point := law_inhabited hp.
have gap r l : law r -> (forall m, mean r (phi m) = mu m) -> dual l - entropy r = KL r (softmax (along l phi)).
  move=> hr hrm; have e := gap_identity (along l phi) one hr.
  have d1 i : along l phi i / 1 = along l phi i by field.
  have n : normaliser (fun i => along l phi i / 1) = normaliser (along l phi) by apply: sum_ext => i; rewrite d1.
  have k : KL r (softmax (fun i => along l phi i / 1)) = KL r (softmax (along l phi)).
    by apply: sum_ext => i; rewrite /softmax n d1.
  move: e; rewrite k /lse n /objective mean_along /dual /lse.
  have -> : \sum_m (l m * mean r (phi m)) = \sum_m (l m * mu m) by apply: sum_ext => m; rewrite hrm.
  by lra.
have soft l i : 0 < softmax (along l phi) i by apply: softmax_gt0.
have above r l : law r -> (forall m, mean r (phi m) = mu m) -> entropy r <= dual l.
  move=> hr hrm; have := gap r l hr hrm; have := KL_ge0 hr (softmax_law point (along l phi)) (soft l); lra.
split; [by move=> l; apply: gap | split; first by move=> l; apply: above].
move=> l hl; have hs := softmax_law point (along l phi); have g := gap _ l hs hl.
have z : KL (softmax (along l phi)) (softmax (along l phi)) = 0 by apply/(KL_eq0 hs hs (soft l)).
have e : entropy (softmax (along l phi)) = dual l by lra.
by split=> // l'; rewrite -e; apply: above.
Qed.
End Moments.

(* Twin: a law that misses the mean; multiplier one, scores ln 3 and 0, and the reference for the law.
   Twin of: nearest. *)
Theorem not_nearest_infeasible : ~ forall (I M : finType) (q : I -> R) (l : M -> R) (phi : M -> I -> R) (p : I -> R),
  law q -> law p -> dominated p q -> let t := gibbs_law q (along l phi) in KL p q - KL t q = KL p t.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
have u (f : unit -> R) : \sum_m f m = f tt by rewrite (big_pred1 tt) //; case.
move=> h; pose phi (_ : unit) (b : bool) := if b then ln 3 else 0.
have dom : dominated (fun _ : bool => / 2) (fun=> / 2) by move=> b; lra.
pose t := gibbs_law (fun _ : bool => / 2) (along (fun=> 1) phi).
have e : KL (fun _ : bool => / 2) (fun=> / 2) - KL t (fun=> / 2) = KL (fun=> / 2) t := h _ _ _ _ _ _ half half dom.
have g : KL (fun _ : bool => / 2) (fun=> / 2) - KL t (fun=> / 2) = KL (fun=> / 2) t +
  \sum_m (1 * (mean (fun=> / 2) (phi m) - mean t (phi m))) := divergence_gap _ _ half half dom.
rewrite e u in g.
have : mean (fun=> / 2) (phi tt) = mean t (phi tt) by lra.
rewrite /t /mean /gibbs_law /gibbs_sum /mean !big_bool /along !u /phi !Rmult_1_l exp_0 exp_ln; last by lra.
have : 0 < ln 3 by rewrite -ln_1; apply: ln_increasing; lra.
by move=> l3 /= k; lra.
Qed.

(* Twin: a multiplier of minus one, with which a mean that is too large may be nearer; the reference itself is.
   Twin of: nearest_relaxed. *)
Theorem not_relaxed_negative : ~ forall (I M : finType) (q : I -> R) (l : M -> R) (phi : M -> I -> R) (p : I -> R),
  law q -> law p -> dominated p q -> let t := gibbs_law q (along l phi) in
  (forall m, mean t (phi m) <= mean p (phi m)) -> KL t q <= KL p q.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
have u (f : unit -> R) : \sum_m f m = f tt by rewrite (big_pred1 tt) //; case.
move=> h; pose phi (_ : unit) (b : bool) := if b then - ln 3 else 0.
have dom : dominated (fun _ : bool => / 2) (fun=> / 2) by move=> b; lra.
have l3 : 0 < ln 3 by rewrite -ln_1; apply: ln_increasing; lra.
pose t := gibbs_law (fun _ : bool => / 2) (along (fun=> -1) phi).
have ht : law t := gibbs_law_law _ half.
have t1 b : t b = if b then 3 / 4 else 1 / 4.
  rewrite /t /gibbs_law /gibbs_sum /mean big_bool /along !u /phi.
  have e : exp (-1 * - ln 3) = 3 by have -> : -1 * - ln 3 = ln 3 by [ring]; rewrite exp_ln; lra.
  by case: b; rewrite /= e Rmult_0_r exp_0; lra.
have dt : dominated t (fun=> / 2) by move=> b e; exfalso; lra.
have pos := KL_ge0_dominated ht half dt.
have z : KL (fun _ : bool => / 2) (fun=> / 2) = 0 by apply/(KL_eq0_dominated half half dom).
have k : KL t (fun=> / 2) <= KL (fun _ : bool => / 2) (fun=> / 2).
  by apply: (h _ _ _ (fun=> -1) phi _ half half dom) => m; rewrite -/t /mean !big_bool !t1 /phi /=; lra.
have z' : KL t (fun=> / 2) = 0 by apply: Rle_antisym => //; apply: Rle_trans k _; right.
by have := proj1 (KL_eq0_dominated ht half dt) z' true; rewrite t1; lra.
Qed.

(* Twin: the entropy is at least the dual; a sure law and no moments.
   Twin of: moment_duality. *)
Theorem not_dual_reversed : ~ forall (I M : finType) (phi : M -> I -> R) p mu l, law p ->
  (forall m, mean p (phi m) = mu m) -> lse (along l phi) - \sum_m (l m * mu m) <= entropy p.
Proof.
pose p (b : bool) := if b then 1 else 0.
have hp : law p by split=> [[]|]; rewrite ?big_bool /p /=; lra.
have s1 (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
move=> h; have := h bool_finType unit_finType (fun _ _ => 0) p (fun=> 0) (fun=> 0) hp.
have m0 (m : unit) : mean p (fun=> 0) = 0 by rewrite (mean_const _ hp).
move=> /(_ m0); rewrite /lse /normaliser /along /entropy !big_bool !s1 /p /= !Rmult_0_l exp_0 ln_1.
have : 0 < ln 2 by rewrite -ln_1; apply: ln_increasing; lra.
by have -> : 2 = 1 + 1 by [ring]; lra.
Qed.
