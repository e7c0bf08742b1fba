(* The Gibbs principle with a prior, Pinsker's inequality for any number of outcomes, and what they give together.

   Scores s, temperature tau > 0, a prior q that may vanish somewhere. <p, s> - tau KL(p || q) is largest at the law
   b = q exp(s / tau) / Z and is tau log Z there; any law p that vanishes where q does falls short by tau KL(p || b).
   Reader's checklist: [gibbs_law q x] is q_i exp(x_i) / sum_j q_j exp(x_j), which for a uniform prior is softmax
   ([gibbs_uniform]); p << q is the hypothesis [dominated]; [l1] is the sum of sizes. softmax.pinsker has two outcomes,
   here there are any number; its second derivative is not here. Measures have finitely many atoms. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Euclid IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Prior.
Variable I : finType.
Implicit Types (s p q x : I -> R) (tau : R).

Definition dominated p q := forall i, q i = 0 -> p i = 0.
Definition gibbs_sum q x := mean q (fun i => exp (x i)).
Definition gibbs_law q x i := q i * exp (x i) / gibbs_sum q x.

Lemma gibbs_sum_gt0 q x : law q -> 0 < gibbs_sum q x.
Proof.
move=> hq; case: (law_inhabited hq) => o; have q0 := proj1 hq.
case: (Req_dec (gibbs_sum q x) 0) => [z|ne]; last first.
  have : 0 <= gibbs_sum q x by apply: sum_ge0 => i; apply: Rmult_le_pos; [apply: q0 | left; apply: exp_pos].
  by lra.
have h : forall i, q i * exp (x i) = 0.
  by apply: sum_eq0 => // i; apply: Rmult_le_pos; [apply: q0 | left; apply: exp_pos].
have z' : \sum_i q i = 0.
  by rewrite big1 // => i _; case: (Rmult_integral _ _ (h i)) => // e; have := exp_pos (x i); lra.
by have := proj2 hq; lra.
Qed.

Theorem gibbs_law_law q x : law q -> law (gibbs_law q x).
Proof.
move=> hq; have z := gibbs_sum_gt0 x hq; split=> [i|].
  apply: Rmult_le_pos; last by left; apply: Rinv_0_lt_compat.
  by apply: Rmult_le_pos; [apply: (proj1 hq) | left; apply: exp_pos].
by rewrite /gibbs_law /Rdiv sumZr -[\sum_i _]/(gibbs_sum q x); field; lra.
Qed.

(* A uniform prior gives softmax. *)
Lemma gibbs_uniform x c : 0 < c -> inhabited I -> forall i, gibbs_law (fun=> c) x i = softmax x i.
Proof.
move=> c0 point i; have n0 := normaliser_gt0 point x; rewrite /gibbs_law /gibbs_sum /mean /= sumZ -/(normaliser x).
by rewrite /softmax; field; lra.
Qed.

(* The gap of the free energy, with a reference; a is the potential.
   Part of: maxent.gibbs. *)
Theorem reference_gap q a p : law q -> law p -> dominated p q ->
  KL p q - mean p a = KL p (gibbs_law q a) - ln (gibbs_sum q a).
Proof.
move=> hq hp pq; have z := gibbs_sum_gt0 a hq.
have -> : KL p (gibbs_law q a) = \sum_i (p i * ln (p i / q i) + (ln (gibbs_sum q a) * p i - p i * a i)).
  apply: sum_ext => i; case: (Req_dec (q i) 0) => [qi|qi]; first by rewrite (pq i qi); ring.
  case: (proj1 hp i) => [pi|<-]; last by ring.
  have q0 : 0 < q i by have := proj1 hq i; lra.
  have -> : p i / gibbs_law q a i = (p i / q i) * (gibbs_sum q a * exp (- a i)).
    by rewrite /gibbs_law exp_Ropp; field; have := exp_pos (a i); lra.
  have e := exp_pos (- a i).
  rewrite ln_mult; [|exact: Rdiv_lt_0_compat|exact: Rmult_lt_0_compat].
  by rewrite ln_mult // ln_exp; ring.
by rewrite sumD sumB sumZ (proj2 hp) /KL /mean; ring.
Qed.

(* Its terms with a divisor that may vanish where the law does. *)
Lemma KL_ge0_dominated p q : law p -> law q -> dominated p q -> 0 <= KL p q.
Proof.
move=> [hp sp] [hq sq] pq; have : \sum_i (p i - q i) <= KL p q.
  apply: sum_le => i; case: (hq i) => [qi|qi]; first exact: KL_term.
  by rewrite (pq i) // -qi; lra.
by rewrite sumB; lra.
Qed.

Lemma KL_eq0_dominated p q : law p -> law q -> dominated p q -> (KL p q = 0 <-> forall i, p i = q i).
Proof.
move=> [hp sp] [hq sq] pq.
have term j : 0 <= p j * ln (p j / q j) - (p j - q j).
  by case: (hq j) => [qj|qj]; [have := KL_term (hp j) qj; lra | rewrite (pq j) // -qj; lra].
split=> [k0 i|e].
  case: (hq i) => [qi|qi]; last by rewrite (pq i) // -qi.
  apply: KL_term_eq => //.
  suff : p i * ln (p i / q i) - (p i - q i) = 0 by lra.
  apply: (sum_eq0 (f := fun i => p i * ln (p i / q i) - (p i - q i))) => //.
  by rewrite sumB sumB -/(KL p q); lra.
rewrite /KL big1 // => i _; rewrite e; case: (hq i) => [qi|<-]; last by ring.
by rewrite /Rdiv Rinv_r ?ln_1; lra.
Qed.

(* The Gibbs principle with a prior: value, maximiser, and that there is no other.
   Part of: softmax.prior. *)
Theorem gibbs_prior q s tau p : 0 < tau -> law q -> law p -> dominated p q ->
  let best := gibbs_law q (fun i => s i / tau) in let value := tau * ln (gibbs_sum q (fun i => s i / tau)) in
  value - (mean p s - tau * KL p q) = tau * KL p best /\
  mean p s - tau * KL p q <= value /\ (mean p s - tau * KL p q = value <-> forall i, p i = best i).
Proof.
move=> ht hq hp pq best value; have gap := reference_gap (fun i => s i / tau) hq hp pq.
have m : mean p (fun i => s i / tau) = mean p s / tau.
  by rewrite /Rdiv /mean -sumZr; apply: sum_ext => i; ring.
have e : value - (mean p s - tau * KL p q) = tau * KL p best.
  have -> : KL p best = KL p q - mean p s / tau + ln (gibbs_sum q (fun i => s i / tau)).
    by rewrite -m gap /best; ring.
  by rewrite /value; field; lra.
have hb : law best := gibbs_law_law _ hq.
have pb : dominated p best.
  move=> i b0; apply: pq; have z := gibbs_sum_gt0 (fun i => s i / tau) hq; have x := exp_pos (s i / tau).
  apply: (Rmult_eq_reg_r (exp (s i / tau) / gibbs_sum q (fun i => s i / tau))).
    by rewrite Rmult_0_l -b0 /best /gibbs_law; field; lra.
  by have := Rdiv_lt_0_compat _ _ x z; lra.
have k0 := Rmult_le_pos _ _ (Rlt_le _ _ ht) (KL_ge0_dominated hp hb pb); split => //; split; first by lra.
rewrite -(KL_eq0_dominated hp hb pb); split=> [h|h]; last by rewrite h in e; lra.
have z : tau * KL p best = 0 by lra.
by case: (Rmult_integral _ _ z); lra.
Qed.

(* Pinsker. *)
Definition l1 p q := \sum_i Rabs (p i - q i).
End Prior.

(* ln u lies above the function that makes Pinsker's inequality, term by term, one of Cauchy and Schwarz. *)
Lemma ln_pade u : 0 < u -> u - 1 + 3 * (u - 1) ^ 2 / (2 * u + 4) <= u * ln u.
Proof.
move=> u0; pose g x := ln x - (x - 1) * (5 * x + 1) / (2 * x * (x + 2)).
have dg x : 0 < x -> is_derive g x ((x - 1) ^ 3 / (x ^ 2 * (x + 2) ^ 2)).
  by move=> x0; rewrite /g; auto_derive; [repeat split; nra | field; lra].
have g1 : g 1 = 0 by rewrite /g ln_1; field.
have g0 : 0 <= g u.
  have inside x : Rmin 1 u <= x -> 0 < x by rewrite /Rmin; case: Rle_dec; lra.
  case: (MVT_gen g 1 u (fun x => (x - 1) ^ 3 / (x ^ 2 * (x + 2) ^ 2))) => [x [lo _]|x [lo _]|c [[lo hi] e]].
  - by apply: dg; apply: inside; lra.
  - apply: derivable_continuous_pt; exists ((x - 1) ^ 3 / (x ^ 2 * (x + 2) ^ 2)); apply/is_derive_Reals; apply: dg.
    by apply: inside.
  have c0 := inside _ lo; have -> : g u = (c - 1) ^ 3 * (u - 1) / (c ^ 2 * (c + 2) ^ 2).
    have -> : g u = g u - 0 by ring.
    by rewrite g1 in e; rewrite e; field; lra.
  apply: Rmult_le_pos; last by left; apply: Rinv_0_lt_compat; apply: Rmult_lt_0_compat; apply: pow_lt; lra.
  have : 0 <= (c - 1) * (u - 1).
    by move: lo hi; rewrite /Rmin /Rmax; case: Rle_dec => h lo hi; nra.
  by move=> k; have -> : (c - 1) ^ 3 * (u - 1) = (c - 1) ^ 2 * ((c - 1) * (u - 1)); [ring | apply: Rmult_le_pos => //;
    apply: pow2_ge_0].
have : 0 <= u * g u by apply: Rmult_le_pos; lra.
have -> : u * g u = u * ln u - (u - 1 + 3 * (u - 1) ^ 2 / (2 * u + 4)) by rewrite /g; field; lra.
by lra.
Qed.

Section Pinsker.
Variable I : finType.
Implicit Types (s p q x : I -> R) (tau : R).

(* KL(p || q) >= |p - q|_1^2 / 2, for any number of outcomes.
   Part of: softmax.pinsker. *)
Theorem pinsker p q : law p -> law q -> dominated p q -> l1 p q ^ 2 / 2 <= KL p q.
Proof.
move=> hp hq pq; have p0 := proj1 hp; have q0 := proj1 hq.
pose w i := 2 * p i + 4 * q i; pose r i := if Req_EM_T (w i) 0 then 0 else (p i - q i) ^ 2 / w i.
have w0 i : 0 <= w i by rewrite /w; have := p0 i; have := q0 i; lra.
have sw : \sum_i w i = 6 by rewrite /w sumD !sumZ (proj2 hp) (proj2 hq); ring.
have r0 i : 0 <= r i.
  rewrite /r; case: (Req_EM_T (w i) 0) => [z|ne] /=; first by lra.
  by apply: Rmult_le_pos; [apply: pow2_ge_0 | left; apply: Rinv_0_lt_compat; have := w0 i; lra].
have term i : p i - q i + 3 * r i <= p i * ln (p i / q i).
  rewrite /r; case: (Req_EM_T (w i) 0) => [z|ne] /=.
    have -> : p i = 0 by move: z; rewrite /w; have := p0 i; have := q0 i; lra.
    have -> : q i = 0 by move: z; rewrite /w; have := p0 i; have := q0 i; lra.
    by lra.
  case: (Req_dec (q i) 0) => [qz|qz]; first by case: ne; rewrite /w (pq i qz) qz; ring.
  have qi : 0 < q i by have := q0 i; lra.
  case: (Req_dec (p i) 0) => [pz|pz].
    rewrite pz /w pz Rmult_0_l; have -> : 0 - q i + 3 * ((0 - q i) ^ 2 / (2 * 0 + 4 * q i)) = - (q i / 4) by field; lra.
    by lra.
  have pi : 0 < p i by have := p0 i; lra.
  have := ln_pade (Rdiv_lt_0_compat _ _ pi qi) => h.
  have := Rmult_le_compat_l (q i) _ _ (Rlt_le _ _ qi) h.
  have -> : q i * (p i / q i - 1 + 3 * (p i / q i - 1) ^ 2 / (2 * (p i / q i) + 4)) =
    p i - q i + 3 * ((p i - q i) ^ 2 / w i).
    by rewrite /w; field; split; [lra | rewrite /w in ne; lra].
  by have -> : q i * (p i / q i * ln (p i / q i)) = p i * ln (p i / q i) by field; lra.
have kl : 3 * (\sum_i r i) <= KL p q.
  have : \sum_i (p i - q i + 3 * r i) <= KL p q by apply: sum_le.
  by rewrite sumD sumB sumZ (proj2 hp) (proj2 hq); lra.
have cs : l1 p q ^ 2 <= 6 * \sum_i r i.
  have := cauchy_schwarz (fun i => sqrt (w i)) (fun i => sqrt (r i)).
  have -> : dot (fun i => sqrt (w i)) (fun i => sqrt (r i)) = l1 p q.
    apply: sum_ext => i; rewrite -sqrt_mult //.
    have -> : w i * r i = Rsqr (p i - q i); last by rewrite sqrt_Rsqr_abs.
    rewrite /r /Rsqr; case: (Req_EM_T (w i) 0) => [z|ne] /=; last by field.
    have a : p i = 0 by move: z; rewrite /w; have := p0 i; have := q0 i; lra.
    have b : q i = 0 by move: z; rewrite /w; have := p0 i; have := q0 i; lra.
    by rewrite a b; ring.
  have -> : norm (fun i => sqrt (w i)) = sqrt 6.
    by rewrite /norm /dot; congr sqrt; rewrite -sw; apply: sum_ext => i; rewrite sqrt_sqrt.
  have -> : norm (fun i => sqrt (r i)) = sqrt (\sum_i r i).
    by rewrite /norm /dot; congr sqrt; apply: sum_ext => i; rewrite sqrt_sqrt.
  have R0 : 0 <= \sum_i r i by apply: sum_ge0.
  have l0 : 0 <= l1 p q by apply: sum_ge0 => i; apply: Rabs_pos.
  move=> h; have : l1 p q * l1 p q <= sqrt 6 * sqrt (\sum_i r i) * (sqrt 6 * sqrt (\sum_i r i)).
    by apply: Rmult_le_compat.
  have -> : sqrt 6 * sqrt (\sum_i r i) * (sqrt 6 * sqrt (\sum_i r i)) =
    (sqrt 6 * sqrt 6) * (sqrt (\sum_i r i) * sqrt (\sum_i r i)) by ring.
  by rewrite !sqrt_sqrt //; [have -> : l1 p q ^ 2 = l1 p q * l1 p q by ring | lra].
by lra.
Qed.

(* A law misses the largest free energy by at least tau / 2 times its squared distance from softmax.
   Claim: softmax.strong-concavity. *)
Theorem strong_concavity s tau p : 0 < tau -> law p ->
  let best := softmax (fun i => s i / tau) in
  tau / 2 * l1 p best ^ 2 <= objective s tau best - objective s tau p.
Proof.
move=> ht hp best; have point := law_inhabited hp.
have hb : law best := softmax_law point _.
have b0 i : 0 < best i by apply: softmax_gt0.
have k : l1 p best ^ 2 / 2 <= KL p best by apply: pinsker => // i e; have := b0 i; lra.
have g := gap_identity s ht hp; have g' := gap_identity s ht hb.
have z : KL best best = 0 by apply/(KL_eq0 hb hb b0).
rewrite -/best in g g'; rewrite z in g'; have := Rmult_le_compat_l tau _ _ (Rlt_le _ _ ht) k.
by lra.
Qed.

(* The symmetrised divergence.
   Claim: softmax.jeffreys. *)
Theorem jeffreys x y tau : 0 < tau -> inhabited I ->
  let p := softmax (fun i => x i / tau) in let q := softmax (fun i => y i / tau) in
  tau * (KL p q + KL q p) = \sum_i ((p i - q i) * (x i - y i)).
Proof.
move=> ht point p q.
have lq i : ln (p i / q i) = x i / tau - y i / tau - (lse (fun i => x i / tau) - lse (fun i => y i / tau)).
  rewrite /Rdiv ln_mult; [|exact: softmax_gt0|by apply: Rinv_0_lt_compat; apply: softmax_gt0].
  by rewrite ln_Rinv; [rewrite !ln_softmax //; rewrite /Rdiv; ring | apply: softmax_gt0].
have lp i : ln (q i / p i) = - ln (p i / q i).
  have -> : q i / p i = / (p i / q i).
    by field; split; apply: Rgt_not_eq; apply: softmax_gt0.
  by rewrite ln_Rinv //; apply: Rdiv_lt_0_compat; apply: softmax_gt0.
set c := lse _ - lse _ in lq.
have -> : KL p q + KL q p = \sum_i ((p i - q i) * (x i - y i) * / tau) - c * \sum_i (p i - q i).
  rewrite /KL -sumZ -sumD -sumB; apply: sum_ext => i; rewrite lp lq; field; lra.
rewrite sumB (softmax_sum point) (softmax_sum point) sumZr; field; lra.
Qed.

(* Co-coercivity, in both norms.
   Claim: softmax.cocoercive. *)
Theorem cocoercive x y tau : 0 < tau -> inhabited I ->
  let p := softmax (fun i => x i / tau) in let q := softmax (fun i => y i / tau) in
  tau * l1 p q ^ 2 <= \sum_i ((p i - q i) * (x i - y i)) /\
  2 * tau * (\sum_i (p i - q i) ^ 2) <= \sum_i ((p i - q i) * (x i - y i)).
Proof.
move=> ht point p q; rewrite -(jeffreys x y ht point) -/p -/q.
have hp : law p := softmax_law point _; have hq : law q := softmax_law point _.
have p0 i : 0 < p i by apply: softmax_gt0.
have q0 i : 0 < q i by apply: softmax_gt0.
have k1 : l1 p q ^ 2 / 2 <= KL p q by apply: pinsker => // i e; have := q0 i; lra.
have k2 : l1 q p ^ 2 / 2 <= KL q p by apply: pinsker => // i e; have := p0 i; lra.
have e : l1 q p = l1 p q by apply: sum_ext => i; rewrite Rabs_minus_sym.
rewrite e in k2; have one : tau * l1 p q ^ 2 <= tau * (KL p q + KL q p) by apply: Rmult_le_compat_l; lra.
split => //; apply: Rle_trans one.
suff h : 2 * (\sum_i (p i - q i) ^ 2) <= l1 p q ^ 2 by have := Rmult_le_compat_l tau _ _ (Rlt_le _ _ ht) h; lra.
(* no term is more than half of the sum of sizes, the terms summing to zero *)
have half i : 2 * Rabs (p i - q i) <= l1 p q.
  have z : \sum_j (p j - q j) = 0 by rewrite sumB (proj2 hp) (proj2 hq); ring.
  have : Rabs (p i - q i) <= \sum_j (Rabs (p j - q j) - (if j == i then Rabs (p i - q i) else 0)).
    have e' : p i - q i = - \sum_j ((p j - q j) - (if j == i then p i - q i else 0)).
      by rewrite sumB z -big_mkcond big_pred1_eq; ring.
    rewrite {1}e' Rabs_Ropp; apply: Rle_trans (sum_abs _) _; apply: sum_le => j.
    case: eqP => [->|_]; last by rewrite !Rminus_0_r; lra.
    have -> : p i - q i - (p i - q i) = 0 by ring.
    by rewrite Rabs_R0; apply: Req_le; ring.
  by rewrite sumB -big_mkcond big_pred1_eq -/(l1 p q); lra.
have -> : l1 p q ^ 2 = \sum_i (Rabs (p i - q i) * l1 p q) by rewrite sumZr /l1; ring.
rewrite -sumZ; apply: sum_le => i; rewrite -(pow2_abs (p i - q i)).
by have := half i; have := Rabs_pos (p i - q i); nra.
Qed.
End Pinsker.

(* Twins. Pinsker: 0.51 instead of 1/2, at weights 0.55 and 0.45 against equal ones.
   Twin of: pinsker. *)
Theorem not_pinsker_near : ~ forall (I : finType) (p q : I -> R), law p -> law q -> dominated p q ->
  51 / 100 * l1 p q ^ 2 <= KL p q.
Proof.
move=> h; have := h [finType of bool] (fun b => if b then 55 / 100 else 45 / 100) (fun=> / 2).
rewrite /l1 /KL !big_bool /= => k.
have : 51 / 100 * (Rabs (55 / 100 - / 2) + Rabs (45 / 100 - / 2)) ^ 2 <=
    55 / 100 * ln (55 / 100 / / 2) + 45 / 100 * ln (45 / 100 / / 2).
  rewrite /= in k *; apply: k; [split=> [b|] | split=> [b|] | move=> b e]; rewrite ?big_bool /=; try case: b; lra.
rewrite Rabs_pos_eq ?(Rabs_left1 (45 / 100 - / 2)); [|lra|lra] => c.
have : 55 / 100 * ln (55 / 100 / / 2) + 45 / 100 * ln (45 / 100 / / 2) - 51 / 10000 < 0 by interval with (i_prec 40).
by lra.
Qed.

(* The divergence added instead of subtracted: a sure law, equal weights and no potential.
   Twin of: reference_gap. *)
Theorem not_reference_gap_sign : ~ forall (I : finType) (q a p : I -> R), law q -> law p -> dominated p q ->
  KL p q - mean p a = - KL p (gibbs_law q a) - ln (gibbs_sum q a).
Proof.
move=> h; have := h [finType of bool] (fun=> / 2) (fun=> 0) (fun b => if b then 1 else 0).
rewrite /KL /mean /gibbs_law /gibbs_sum /mean !big_bool /= exp_0 => k.
have : 1 * ln (1 / / 2) + 0 * ln (0 / / 2) - (1 * 0 + 0 * 0) =
    - (1 * ln (1 / (/ 2 * 1 / (/ 2 * 1 + / 2 * 1))) + 0 * ln (0 / (/ 2 * 1 / (/ 2 * 1 + / 2 * 1)))) -
    ln (/ 2 * 1 + / 2 * 1).
  by apply: k; [split=> [b|] | split=> [b|] | move=> b e]; rewrite ?big_bool /=; try case: b; lra.
have -> : / 2 * 1 + / 2 * 1 = 1 by field.
have -> : 1 / (/ 2 * 1 / 1) = 2 by field.
have -> : 1 / / 2 = 2 by field.
have : 0 < ln 2 by rewrite -ln_1; apply: ln_increasing; lra.
by rewrite ln_1; lra.
Qed.

(* The symmetrised divergence without the temperature, which is two.
   Twin of: jeffreys. *)
Theorem not_jeffreys_unit_factor : ~ forall (I : finType) (x y : I -> R) tau, 0 < tau -> inhabited I ->
  let p := softmax (fun i => x i / tau) in let q := softmax (fun i => y i / tau) in
  KL p q + KL q p = \sum_i ((p i - q i) * (x i - y i)).
Proof.
move=> h; have two : 0 < 2 by lra.
have point : inhabited [finType of bool] by constructor; exact: true.
pose x (b : bool) := if b then 1 else 0; pose y (b : bool) := 0.
have e := h [finType of bool] x y 2 two point; have := jeffreys x y two point; move: e => /= -> k.
set S := \sum_i _ in k; have z : S = 0 by lra.
move: z; rewrite /S /softmax /normaliser !big_bool /x /y /=.
have -> : 0 / 2 = 0 by field.
rewrite exp_0; have e := exp_pos (1 / 2); have g := exp_ineq1_le (1 / 2).
have -> : (exp (1 / 2) / (exp (1 / 2) + 1) - 1 / (1 + 1)) * (1 - 0) + (1 / (exp (1 / 2) + 1) - 1 / (1 + 1)) * (0 - 0) =
  (exp (1 / 2) - 1) / (2 * (exp (1 / 2) + 1)) by field; lra.
have : 0 < (exp (1 / 2) - 1) / (2 * (exp (1 / 2) + 1)) by apply: Rdiv_lt_0_compat; lra.
by lra.
Qed.

(* Twin: three for the two in the second bound; scores 1/2, -1/2 and the other way round.
   Twin of: cocoercive. *)
Theorem not_cocoercive_triple : ~ forall (I : finType) (x y : I -> R) tau, 0 < tau -> inhabited I ->
  let p := softmax (fun i => x i / tau) in let q := softmax (fun i => y i / tau) in
  3 * tau * (\sum_i (p i - q i) ^ 2) <= \sum_i ((p i - q i) * (x i - y i)).
Proof.
move=> h; have := h [finType of bool] (fun b => if b then / 2 else - / 2) (fun b => if b then - / 2 else / 2) 1 Rlt_0_1
  (inhabits true).
rewrite /softmax /normaliser !big_bool /=; set u := exp (/ 2 / 1); set v := exp (- / 2 / 1) => k.
have : 0 < 3 * 1 * ((u / (u + v) - v / (v + u)) * ((u / (u + v) - v / (v + u)) * 1) +
    (v / (u + v) - u / (v + u)) * ((v / (u + v) - u / (v + u)) * 1)) -
  ((u / (u + v) - v / (v + u)) * (/ 2 - - / 2) + (v / (u + v) - u / (v + u)) * (- / 2 - / 2)).
  by rewrite /u /v; interval with (i_prec 40).
by lra.
Qed.

(* Twin: a law with mass where the prior has none; its divergence would be infinite and here counts nothing.
   Twin of: gibbs_prior, softmax_prior. *)
Theorem not_gibbs_undominated : ~ forall (I : finType) (q s : I -> R) tau p, 0 < tau -> law q -> law p ->
  mean p s - tau * KL p q <= tau * ln (gibbs_sum q (fun i => s i / tau)).
Proof.
pose q (b : bool) := if b then 1 else 0; pose p (b : bool) := if b then 0 else 1.
have hq : law q by split=> [[]|]; rewrite ?big_bool /q /=; lra.
have hp : law p by split=> [[]|]; rewrite ?big_bool /p /=; lra.
have ln0 : ln 0 = 0 by rewrite /ln; case: Rlt_dec => // lt; case: (Rlt_irrefl _ lt).
move=> h; have := h bool_finType q p 1 p Rlt_0_1 hq hp.
rewrite /gibbs_sum /KL /mean !big_bool /q /p /= /Rdiv Rinv_1 Rinv_0 !Rmult_0_l !Rmult_0_r ln0 exp_0.
by rewrite !Rmult_1_l ?Rplus_0_r ln_1; lra.
Qed.

(* Twin: two per cent more; equal scores, weights 55/100 and 45/100.
   Twin of: strong_concavity. *)
Theorem not_strong_concavity_near : ~ forall (I : finType) (s : I -> R) tau p, 0 < tau -> law p ->
  let best := softmax (fun i => s i / tau) in
  51 / 100 * tau * l1 p best ^ 2 <= objective s tau best - objective s tau p.
Proof.
pose p (b : bool) := if b then 55 / 100 else 45 / 100.
have hp : law p by split=> [[]|]; rewrite ?big_bool /p /=; lra.
move=> h; have := h bool_finType (fun=> 0) 1 p Rlt_0_1 hp.
have half i : softmax (fun _ : bool => 0 / 1) i = / 2.
  by rewrite /softmax /normaliser big_bool /= /Rdiv Rmult_0_l exp_0; field.
rewrite /l1 /objective /entropy /mean !big_bool !half /p /=.
rewrite (Rabs_pos_eq (55 / 100 - / 2)); last by lra.
rewrite (Rabs_left1 (45 / 100 - / 2)); last by lra.
have : 55 / 100 * ln (55 / 100) + 45 / 100 * ln (45 / 100) - ln (/ 2) - 51 / 10000 < 0 by interval with (i_prec 40).
by lra.
Qed.
