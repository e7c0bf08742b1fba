(* Fenchel-Young losses of any regulariser on the simplex: not negative, zero at maximisers alone, convex, with the
   prediction less the target as a slope, blind to a constant in the scores, additive over blocks.

   Reader's checklist: [Om] is any function of a law, with the temperature in it; [best Om s p] says that p
   maximises <p, s> - Om(p) among laws, so that the theorems need no convexity, and where no p does they say
   nothing; [shortfall Om s p y] is the value at such a p less <y, s> - Om(y). The claims have Om = -tau H_alpha;
   that a maximiser exists is in [Softmax] for order one and in [Threshold] for those above. Differentiability is not
   here: [loss_slope] says that the slope is a subgradient. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Attention Require Import Finite Softmax.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section FenchelYoung.
Variable I : finType.
Implicit Types (s t p y : I -> R) (Om : (I -> R) -> R).

Definition gain Om s p := mean p s - Om p.
Definition best Om s p := law p /\ forall r, law r -> gain Om s r <= gain Om s p.
Definition shortfall Om s p y := gain Om s p - gain Om s y.

(* The loss does not depend on which maximiser it is written with.
   Part of: loss.shortfall, loss.zero. *)
Theorem loss_shortfall Om s p y : best Om s p -> law y ->
  (forall p', best Om s p' -> shortfall Om s p' y = shortfall Om s p y) /\
  0 <= shortfall Om s p y /\ (shortfall Om s p y = 0 <-> best Om s y).
Proof.
move=> [hp hb] hy; rewrite /shortfall; split; [|split].
- by move=> p' [hp' hb']; have := hb _ hp'; have := hb' _ hp; lra.
- by have := hb _ hy; lra.
by split=> [e|[_ h]]; [split=> // r hr; have := hb _ hr; lra | have := h _ hp; have := hb _ hy; lra].
Qed.

(* Convex in the scores.
   Part of: loss.convex. *)
Theorem loss_convex Om s t p q r y : best Om s p -> best Om t q -> best Om (fun i => (s i + t i) / 2) r ->
  shortfall Om (fun i => (s i + t i) / 2) r y <= shortfall Om s p y / 2 + shortfall Om t q y / 2.
Proof.
move=> [hp bp] [hq bq] [hr br]; have h1 := bp _ hr; have h2 := bq _ hr; move: h1 h2; rewrite /shortfall /gain.
have e w : mean w (fun i => (s i + t i) / 2) = mean w s / 2 + mean w t / 2.
  have -> : mean w (fun i => (s i + t i) / 2) = mean w (fun i => / 2 * s i + / 2 * t i) by apply: mean_ext => i; field.
  by rewrite meanD !meanZ; field.
by rewrite !e; lra.
Qed.

(* The prediction less the target is a slope.
   Part of: loss.gradient. *)
Theorem loss_slope Om s t p q y : best Om s p -> best Om t q ->
  shortfall Om s p y + \sum_i ((p i - y i) * (t i - s i)) <= shortfall Om t q y.
Proof.
move=> [hp bp] [hq bq]; have := bq _ hp; rewrite /shortfall /gain.
have -> : \sum_i ((p i - y i) * (t i - s i)) = mean p t - mean p s - (mean y t - mean y s).
  by rewrite /mean -!sumB; apply: sum_ext => i; ring.
by lra.
Qed.

(* Scores permuted with the target, a constant added to them all, and a temperature, which scales the loss; for every
   regulariser that the permutation leaves alone, as those of the claim are ([tsallis_turned] of [Entmax]), where a
   maximiser is at hand: for orders from one on there is one, for those from a half to one the claim has more.
   Part of: loss.invariance. *)
Theorem loss_invariance Om s p y c tau (turn : I -> I) : 0 < tau -> injective turn ->
  (forall q, Om (fun i => q (turn i)) = Om q) -> best Om (fun i => s i / tau) p -> law y ->
  let Om' q := tau * Om q in let s' i := s (turn i) + c in
  best Om' s' (fun i => p (turn i)) /\
  shortfall Om' s' (fun i => p (turn i)) (fun i => y (turn i)) = tau * shortfall Om (fun i => s i / tau) p y.
Proof.
move=> t0 inj sym [hp top] hy Om' s'.
have turned q : law q -> law (fun i => q (turn i)).
  by case=> q0 q1; split=> [i|]; [apply: q0 | rewrite -q1 [RHS](reindex_inj inj)].
have value q : law q -> gain Om' s' (fun i => q (turn i)) = tau * gain Om (fun i => s i / tau) q + c.
  move=> hq; rewrite /gain /Om' sym.
  have -> : mean (fun i => q (turn i)) s' = mean q s + c.
    by rewrite /s' meanD (mean_const _ (turned _ hq)) /mean [in RHS](reindex_inj inj).
  have -> : mean q (fun i => s i / tau) = mean q s / tau by rewrite /mean /Rdiv -sumZr; apply: sum_ext => i; ring.
  by field; lra.
split; last by rewrite /shortfall !value //; ring.
split; first exact: turned.
move=> r hr; pose back i := invF inj i.
have hb : law (fun i => r (back i)).
  case: hr => r0 r1; split=> [i|]; first exact: r0.
  by rewrite (reindex_inj inj) -r1; apply: sum_ext => i; rewrite /back invF_f.
have e : r = fun i => r (back (turn i)) by apply: functional_extensionality => i; rewrite /back invF_f.
rewrite e (value _ hb) (value _ hp).
by have := Rmult_le_compat_l tau _ _ (Rlt_le _ _ t0) (top _ hb); lra.
Qed.

(* Cross-entropy is the loss of Shannon entropy at a sure target.
   Part of: loss.forms.
   No twin: an identity. *)
Theorem cross_entropy s k : inhabited I ->
  let Om := fun p => - entropy p in let sure := fun i => if i == k then 1 else 0 in
  best Om s (softmax s) /\ shortfall Om s (softmax s) sure = - ln (softmax s k).
Proof.
move=> point Om sure; have one : 0 < 1 by lra.
have e p : gain Om s p = objective s 1 p by rewrite /gain /Om /objective; ring.
have d1 x : x / 1 = x by field.
have hs : law sure.
  split=> [i|]; first by rewrite /sure; case: eqP; lra.
  by rewrite /sure -big_mkcond big_pred1_eq.
have hp := softmax_law point s.
have norm1 : normaliser (fun i => s i / 1) = normaliser s by apply: sum_ext => i; rewrite d1.
have l1 : lse (fun i => s i / 1) = lse s by rewrite /lse norm1.
have soft1 i : softmax (fun j => s j / 1) i = softmax s i by rewrite /softmax norm1 d1.
have top : objective s 1 (softmax s) = lse s.
  by have [_ h] := gibbs s one hp; rewrite -l1 -[RHS]Rmult_1_l; apply/h => i; rewrite soft1.
split.
  by split=> // r hr; rewrite !e top; have [h _] := gibbs s one hr; rewrite l1 in h; lra.
rewrite /shortfall !e top ln_softmax // /objective.
have -> : mean sure s = s k.
  have -> : mean sure s = \sum_i (if i == k then s i else 0).
    by apply: sum_ext => i; rewrite /sure; case: eqP => _; ring.
  by rewrite -big_mkcond big_pred1_eq.
have -> : entropy sure = 0.
  by rewrite /entropy big1 ?Ropp_0 // => i _; rewrite /sure; case: eqP => _; rewrite ?ln_1; ring.
by ring.
Qed.
End FenchelYoung.

(* Blocks, each with its own scores and law: losses add up.
   Part of: loss.additive. *)
Theorem loss_additive (I J : finType) (Om : (I -> R) -> R) (Om' : (J -> R) -> R) s t p q y z :
  best Om s p -> best Om' t q ->
  (forall p' q', law p' -> law q' -> gain Om s p' + gain Om' t q' <= gain Om s p + gain Om' t q) /\
  gain Om s p + gain Om' t q - (gain Om s y + gain Om' t z) = shortfall Om s p y + shortfall Om' t q z.
Proof.
move=> [_ hp] [_ hq]; split; last by rewrite /shortfall; ring.
by move=> p' q' hp' hq'; have := hp _ hp'; have := hq _ hq'; lra.
Qed.

(* Twin: losses averaged over the blocks; no regulariser, scores 1 and 0 in both, targets on the second.
   Twin of: loss_additive. *)
Theorem not_loss_averaged : ~ forall (I J : finType) (Om : (I -> R) -> R) (Om' : (J -> R) -> R) s t p q y z,
  best Om s p -> best Om' t q -> law y -> law z ->
  gain Om s p + gain Om' t q - (gain Om s y + gain Om' t z) = / 2 * (shortfall Om s p y + shortfall Om' t q z).
Proof.
pose f (b : bool) := if b then 1 else 0; pose g (b : bool) := if b then 0 else 1.
have hg : law g by split=> [[]|]; rewrite ?big_bool /g /=; lra.
have b1 : best (fun=> 0) f f.
  split=> [|r [r0 r1]]; first by split=> [[]|]; rewrite ?big_bool /f /=; lra.
  by rewrite /gain /mean !big_bool /f /= in r1 *; have := r0 false; lra.
by move=> h; have := h _ _ _ _ _ _ _ _ _ _ b1 b1 hg hg; rewrite /shortfall /gain /mean !big_bool /f /g /=; lra.
Qed.

(* Twin: strongly convex it is not, with the constant 2/25; no regulariser and one score.
   Twin of: loss_convex. *)
Theorem not_strongly_convex : ~ forall (I : finType) (Om : (I -> R) -> R) (s t p q r y : I -> R), best Om s p ->
  best Om t q -> best Om (fun i => (s i + t i) / 2) r -> law y -> shortfall Om (fun i => (s i + t i) / 2) r y +
  / 100 * (\sum_i (s i - t i) ^ 2) <= shortfall Om s p y / 2 + shortfall Om t q y / 2.
Proof.
have u (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
have hl : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite u].
move=> h; have := h [finType of unit] (fun=> 0) (fun=> 0) (fun=> 1) (fun=> 1) (fun=> 1) (fun=> 1) (fun=> 1).
have b (s : unit -> R) : best (fun=> 0) s (fun=> 1).
  by split=> // r hr; rewrite /gain /mean !u; have := proj2 hr; rewrite u => ->; lra.
by move=> /(_ (b _) (b _) (b _) hl); rewrite /shortfall /gain /mean !u /=; lra.
Qed.

(* Twin: the slope with its sign swapped; no entropy, where every law is best for equal scores.
   Twin of: loss_slope. *)
Theorem not_loss_slope_swapped : ~ forall (I : finType) (Om : (I -> R) -> R) (s t p q y : I -> R), best Om s p ->
  best Om t q -> law y -> shortfall Om s p y + \sum_i ((y i - p i) * (t i - s i)) <= shortfall Om t q y.
Proof.
pose f (b : bool) := if b then 1 else 0; pose g (b : bool) := if b then 0 else 1.
have hf : law f by split=> [[]|]; rewrite ?big_bool /f /=; lra.
have hg : law g by split=> [[]|]; rewrite ?big_bool /g /=; lra.
have b0 : best (fun=> 0) (fun _ : bool => 0) g.
  by split=> // r hr; rewrite /gain !mean_const //; lra.
have b1 : best (fun=> 0) f f.
  split=> // r [r0 r1]; rewrite /gain /mean !big_bool /f /= in r1 *; have := r0 false; lra.
by move=> h; have := h [finType of bool] _ _ _ _ _ _ b0 b1 hf; rewrite /shortfall /gain /mean !big_bool /f /g /=; lra.
Qed.

(* Twin: the loss vanishes at the prediction alone; no regulariser and equal scores, where every law is best.
   Twin of: loss_shortfall. *)
Theorem not_zero_alone : ~ forall (I : finType) (Om : (I -> R) -> R) (s p y : I -> R), best Om s p -> law y ->
  (shortfall Om s p y = 0 <-> forall i, y i = p i).
Proof.
pose f (b : bool) := if b then 1 else 0; pose g (b : bool) := if b then 0 else 1.
have hf : law f by split=> [[]|]; rewrite ?big_bool /f /=; lra.
have hg : law g by split=> [[]|]; rewrite ?big_bool /g /=; lra.
have b0 : best (fun=> 0) (fun _ : bool => 0) f by split=> // r hr; rewrite /gain !mean_const //; lra.
move=> h; have [to _] := h _ _ _ _ _ b0 hg; have := to _ true.
by rewrite /shortfall /gain !mean_const // /f /g => /(_ ltac:(lra)); lra.
Qed.

(* Twin: a temperature that scales the scores and not the loss; two scores 1 and 0, no regulariser, tau = 2.
   Twin of: loss_invariance. *)
Theorem not_loss_unscaled : ~ forall (I : finType) (Om : (I -> R) -> R) (s p y : I -> R) tau, 0 < tau ->
  best Om (fun i => s i / tau) p -> law y ->
  shortfall (fun q => tau * Om q) s p y = shortfall Om (fun i => s i / tau) p y.
Proof.
pose f (b : bool) := if b then 1 else 0; pose g (b : bool) := if b then 0 else 1.
have hf : law f by split=> [[]|]; rewrite ?big_bool /f /=; lra.
have hg : law g by split=> [[]|]; rewrite ?big_bool /g /=; lra.
have b0 : best (fun=> 0) (fun b => f b / 2) f.
  split=> // r [r0 r1]; move: r1; rewrite /gain /mean !big_bool /f /=; have := r0 true; have := r0 false; lra.
move=> h; have := h _ (fun=> 0) f f g 2 ltac:(lra) b0 hg.
by rewrite /shortfall /gain /mean !big_bool /f /g /=; lra.
Qed.
