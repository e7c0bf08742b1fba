(* What scores say of weights: the largest mean score, the order of the weights, and how far from equal they are.

   Reader's checklist: [top] is a bound of the scores that is met on the set A and missed by [delta] off it; the claims
   have temperatures, which divide the scores. In [order], [exchange i j] exchanges i and j, and a strictly concave
   entropy is larger at the middle of two laws than its mean. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Euclid Jacobian Tilt Transport Diameter Masks Collapse FenchelYoung
  IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

(* Scores i and j exchanged. *)
Definition exchange (I : finType) (i j k : I) := if k == i then j else if k == j then i else k.

Lemma exchange_twice (I : finType) (i j k : I) : exchange i j (exchange i j k) = k.
Proof.
rewrite /exchange; case: (k =P i) => [->|ki]; first by case: (j =P i) => [//|_]; rewrite eqxx.
by case: (k =P j) => [->|kj]; [rewrite eqxx | case: eqP => // _; case: eqP].
Qed.

Lemma exchange_sum (I : finType) (i j : I) (f : I -> R) : \sum_k f (exchange i j k) = \sum_k f k.
Proof. by rewrite [RHS](reindex_inj (can_inj (exchange_twice i j))). Qed.

(* For any entropy that is symmetric and strictly concave, here minus Om, and the order of two scores; for softmax the
   difference of the logarithms is that of the scores.
   Claim: naive.order. *)
Theorem order (I : finType) (Om : (I -> R) -> R) (s p : I -> R) i j :
  (forall q, law q -> Om (fun k => q (exchange i j k)) = Om q) ->
  (forall q r, law q -> law r -> (exists k, q k <> r k) -> Om (fun k => (q k + r k) / 2) < (Om q + Om r) / 2) ->
  best Om s p ->
  (s j < s i -> p j <= p i) /\ (s i = s j -> p i = p j) /\
  (forall tau, 0 < tau ->
    ln (softmax (fun k => s k / tau) i) - ln (softmax (fun k => s k / tau) j) = (s i - s j) / tau).
Proof.
move=> sym strict [hp top]; pose q k := p (exchange i j k).
have hq : law q by split=> [k|]; [apply: (proj1 hp) | rewrite /q exchange_sum; apply: (proj2 hp)].
have moved : mean q s - mean p s = (s i - s j) * (p j - p i).
  have e : mean q s - mean p s = \sum_k ((p (exchange i j k) - p k) * s k).
    by rewrite /mean -sumB; apply: sum_ext => k; rewrite /q; ring.
  case: (i =P j) => [ij|/eqP ij].
    rewrite e ij big1 => [|k _]; first by ring.
    by rewrite /exchange; case: (k =P j) => [->|_]; ring.
  rewrite e (bigD1 i) //= (bigD1 j) /=; last by rewrite eq_sym.
  rewrite big1 => [|k /andP [/negbTE ki /negbTE kj]]; last by rewrite /exchange ki kj; ring.
  by rewrite /exchange !eqxx eq_sym (negbTE ij); ring.
have same : Om q = Om p := sym _ hp.
have := top _ hq; rewrite /gain same => least.
split; last split=> [e|tau t0].
- move=> lt; apply: Rnot_lt_le => more.
  by have := Rmult_lt_0_compat (s i - s j) (p j - p i) ltac:(lra) ltac:(lra); lra.
- case: (Req_dec (p i) (p j)) => // ne; have := strict _ _ hp hq; rewrite same.
  have differ : exists k, p k <> q k by exists i; rewrite /q /exchange eqxx.
  move=> /(_ differ); set m := fun k => _ => lt; have hm : law m.
    split=> [k|]; first by have := proj1 hp k; have := proj1 hq k; rewrite /m; lra.
    by rewrite /m /Rdiv sumZr sumD (proj2 hp) (proj2 hq); field.
  have := top _ hm; rewrite /gain.
  have -> : mean m s = (mean p s + mean q s) / 2.
    by rewrite /mean /Rdiv -sumD -sumZr; apply: sum_ext => k; rewrite /m; field.
  have : mean q s = mean p s by move: moved; rewrite e; lra.
  by move=> ->; lra.
have point : inhabited I by constructor.
by rewrite !ln_softmax //; field; lra.
Qed.

Section Order.
Variable I : finType.
Implicit Types (p s : I -> R) (A : I -> bool).

(* A law misses the largest score by at least the gap times what it has off the largest; equality on their face alone.
   Claim: naive.vertex. *)
Theorem vertex p s A top delta : law p -> (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) ->
  0 < delta -> delta * lost A p <= top - mean p s /\ (mean p s = top <-> forall i, ~~ A i -> p i = 0).
Proof.
move=> hp on off d0; have p0 := proj1 hp.
have e : top - mean p s = \sum_i (p i * (top - s i)).
  by rewrite -{1}(mean_const top hp) /mean -sumB; apply: sum_ext => i; ring.
have term i : delta * (if A i then 0 else p i) <= p i * (top - s i).
  case h : (A i); first by rewrite (on i h); lra.
  by have := Rmult_le_compat_l _ _ _ (p0 i) (off i (negbT h)); have := p0 i; nra.
have first : delta * lost A p <= top - mean p s by rewrite e /lost -sumZ; apply: sum_le.
have l0 i : 0 <= (if A i then 0 else p i) by case: (A i); [lra | apply: p0].
split=> //; split=> [z i ni|z].
  have : lost A p = 0.
    have h : 0 <= lost A p by apply: sum_ge0.
    by apply: Rle_antisym => //; apply: (Rmult_le_reg_l delta) => //; lra.
  by move/(sum_eq0 l0)/(_ i); rewrite (negbTE ni).
suff : top - mean p s = 0 by lra.
rewrite e big1 // => i _; case h : (A i); first by rewrite (on i h); ring.
by rewrite (z i (negbT h)); ring.
Qed.

(* What the smaller scores have, how far from equal weights on the largest ones that is, and the value; there are n
   scores, of which m are largest.
   Claim: softmax.cold. *)
Theorem cold s A top delta tau : let m := \sum_i (if A i then 1 else 0) in let n := INR #|I| in
  let p := softmax (fun i => s i / tau) in let eps := lost A p in let value := tau * lse (fun i => s i / tau) in
  0 < tau -> (exists i, A i) -> (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) -> 0 < delta ->
  eps <= (n - m) / m * exp (- (delta / tau)) /\
  \sum_i Rabs (p i - (if A i then / m else 0)) = 2 * eps /\
  value - top - tau * ln m = - tau * ln (1 - eps) /\
  0 <= - tau * ln (1 - eps) <= tau * Rmin (ln (n / m)) (eps / (1 - eps)).
Proof.
move=> m n p eps value t0 [k Ak] on off d0; have point : inhabited I by constructor.
have i0 : 0 < / tau by apply: Rinv_0_lt_compat.
set x := fun i => s i / tau in p eps value *.
have n0 := normaliser_gt0 point x; have hp : law p := softmax_law point x; have e0 := exp_pos (top / tau).
have m1 : 1 <= m.
  have a0 i : 0 <= (if A i then 1 else 0) by case: (A i); lra.
  by have := sum_term k a0; rewrite Ak -/m.
have nm : n = \big[Rplus/0]_(i : I) 1 by rewrite sum_const -/n; ring.
have rest : n - m = \sum_i (if A i then 0 else 1).
  by rewrite nm /m -sumB; apply: sum_ext => i; case: (A i); ring.
have on' i : A i -> exp (x i) = exp (top / tau) by move=> Ai; rewrite /x (on i Ai).
have keep : 1 - eps = m * exp (top / tau) / normaliser x.
  have -> : 1 - eps = kept A p by have := kept_lost A hp; rewrite -/eps; lra.
  rewrite /kept /m /Rdiv -!sumZr; apply: sum_ext => i; case Ai : (A i); last by ring.
  by rewrite /p /softmax on' // /Rdiv; ring.
have keep0 : 0 < 1 - eps by rewrite keep; apply: Rdiv_lt_0_compat => //; apply: Rmult_lt_0_compat; lra.
have eps0 : 0 <= eps by apply: sum_ge0 => i; case: (A i); [lra | apply: (proj1 hp)].
have mono a b : a <= b -> exp a <= exp b by case=> [ab|->]; [left; apply: exp_increasing | right].
have tm : 0 < m * exp (top / tau) by apply: Rmult_lt_0_compat; lra.
have low : m * exp (top / tau) <= normaliser x.
  rewrite /m -sumZr; apply: sum_le => i; have := exp_pos (x i).
  by case Ai : (A i); [rewrite (on' i Ai); lra | lra].
have high : normaliser x <= n * exp (top / tau).
  rewrite nm -sumZr; apply: sum_le => i; rewrite Rmult_1_l; apply: mono; apply: Rmult_le_compat_r; first by lra.
  by case Ai : (A i); [rewrite (on i Ai); lra | have := off i (negbT Ai); lra].
split.
  have -> : (n - m) / m * exp (- (delta / tau)) = (n - m) * (exp (- (delta / tau)) / m) by field; lra.
  rewrite rest /eps /lost -sumZr; apply: sum_le => i; case Ai : (A i); first by lra.
  rewrite Rmult_1_l /p /softmax.
  apply: (Rle_trans _ (exp (top / tau - delta / tau) / (m * exp (top / tau)))).
    apply: Rmult_le_compat; [left; apply: exp_pos | left; apply: Rinv_0_lt_compat; lra | |].
      apply: mono; rewrite /x; have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ i0) (off i (negbT Ai)).
      by rewrite /Rdiv; lra.
    exact: Rinv_le_contravar.
  by right; rewrite /Rminus exp_plus; field; lra.
have each i : A i -> p i = (1 - eps) / m.
  by move=> Ai; have -> : p i = exp (top / tau) / normaliser x by [rewrite -(on' i Ai)]; rewrite keep; field; lra.
split.
  have -> : 2 * eps = \sum_i (eps / m * (if A i then 1 else 0)) + \sum_i (if A i then 0 else p i).
    by rewrite sumZ -/m -/(lost A p) -/eps; field; lra.
  rewrite -sumD; apply: sum_ext => i; case Ai : (A i).
    rewrite (each i Ai); have -> : (1 - eps) / m - / m = - (eps / m) by field; lra.
    rewrite Rabs_Ropp Rabs_pos_eq; first by ring.
    by apply: Rmult_le_pos => //; left; apply: Rinv_0_lt_compat; lra.
  by rewrite Rminus_0_r Rabs_pos_eq; [ring | apply: (proj1 hp)].
have log : ln (1 - eps) = ln m + top / tau - lse x.
  rewrite keep /Rdiv ln_mult //; last by apply: Rinv_0_lt_compat.
  by rewrite ln_mult; [rewrite ln_exp ln_Rinv // /lse; ring | lra | lra].
split; first by rewrite log /value; field; lra.
have ln0 : ln (1 - eps) <= 0 by rewrite -ln_1; apply: ln_le; lra.
have -> : - tau * ln (1 - eps) = tau * - ln (1 - eps) by ring.
split; first by apply: Rmult_le_pos; lra.
apply: Rmult_le_compat_l; first by lra.
apply: Rmin_glb.
  have np : 0 < n by have := Rlt_le_trans _ _ _ tm (Rle_trans _ _ _ low high); nra.
  rewrite -ln_Rinv //; apply: ln_le; first exact: Rinv_0_lt_compat.
  have -> : / (1 - eps) = normaliser x / (m * exp (top / tau)) by rewrite keep; field; lra.
  have -> : n / m = n * exp (top / tau) / (m * exp (top / tau)) by field; lra.
  by apply: Rmult_le_compat_r => //; left; apply: Rinv_0_lt_compat.
rewrite -ln_Rinv //; apply: Rle_trans (ln_le_minus_1 (Rinv_0_lt_compat _ keep0)) _.
by right; field; lra.
Qed.

(* The weights are within tanh(range / 4) of equal ones, in total variation.
   Part of: softmax.hot. *)
Theorem hot s o : inhabited I -> (forall i j, s i - s j <= o) -> TV (softmax s) (softmax (fun=> 0)) <= tanh (o / 4).
Proof. by move=> point h; apply: softmax_TV => // i j; have := h i j; lra. Qed.
End Order.

(* The logarithm of a mean exponential is at least the mean, and by at most an eighth of the squared range more. *)
Lemma hoeffding (I : finType) (w a : I -> R) o : law w -> (forall i j, a i - a j <= o) ->
  mean w a <= ln (mass w a) <= mean w a + o ^ 2 / 8.
Proof.
move=> hw ho; have m0 x := mass_gt0 hw (fun j => x * a j).
have point := law_inhabited hw.
have one : (fun j => 1 * a j) = a by apply: functional_extensionality => j; ring.
split.
  have := jensen hw a; have m1 := m0 1; rewrite one in m1; move=> le.
  by rewrite -(ln_exp (mean w a)); apply: ln_le => //; apply: exp_pos.
pose slope x := mean (tilt w (fun j => x * a j)) a.
have dl x : is_derive (fun t => ln (mass w (fun j => t * a j))) x (slope x).
  have dm : is_derive (fun t => mass w (fun j => t * a j)) x (\sum_j (w j * (a j * exp (x * a j)))).
    by apply: is_derive_sum => j; auto_derive => //; ring.
  refine (@eq_ind R _ (is_derive _ x) (is_derive_comp ln (fun t => mass w (fun j => t * a j)) x _ _
    (is_derive_ln _ (m0 x)) dm) _ _).
  rewrite /scal /= /mult /= /slope /mean -sumZr; apply: sum_ext => j; rewrite /tilt /density /Rdiv; ring.
have ds x : is_derive slope x (variance (tilt w (fun j => x * a j)) a) := tilt_variance_slope a x hw.
have bound x : variance (tilt w (fun j => x * a j)) a <= o ^ 2 / 4.
  have [k top] := largest a point.
  have -> : o ^ 2 = (a k - (a k - o)) ^ 2 by ring.
  by apply: popoviciu => [|i]; [apply: tilt_law | have := ho k i; have := top i; lra].
have rise x : 0 <= x -> slope x <= mean w a + o ^ 2 / 4 * x.
  move=> x0; case: (MVT_gen slope 0 x (fun c => variance (tilt w (fun j => c * a j)) a)) => [c _|c _|c [_ e]].
  - exact: ds.
  - by apply: derivable_continuous_pt; exists (variance (tilt w (fun j => c * a j)) a); apply/is_derive_Reals.
  have z : slope 0 = mean w a.
    rewrite /slope; apply: sum_ext => j; rewrite /tilt /density /mass; have -> : (fun j => exp (0 * a j)) = fun=> 1.
      by apply: functional_extensionality => i; rewrite Rmult_0_l exp_0.
    by rewrite (mean_const _ hw) Rmult_0_l exp_0; field.
  have := Rmult_le_compat_r x _ _ x0 (bound c); rewrite z Rminus_0_r in e; lra.
pose gap x := ln (mass w (fun j => x * a j)) - (mean w a * x + o ^ 2 / 8 * x ^ 2).
have dg x : is_derive gap x (slope x - (mean w a + o ^ 2 / 4 * x)).
  apply: (is_derive_minus (fun x => ln (mass w (fun j => x * a j)))); first exact: dl.
  by auto_derive => //; field.
case: (MVT_gen gap 0 1 (fun c => slope c - (mean w a + o ^ 2 / 4 * c))) => [c _|c _|c [hc e]]; first exact: dg.
  by apply: derivable_continuous_pt; exists (slope c - (mean w a + o ^ 2 / 4 * c)); apply/is_derive_Reals; exact: dg.
have c0 : 0 <= c by move: hc; rewrite Rmin_left; lra.
have g0 : gap 0 = 0.
  rewrite /gap; have -> : mass w (fun j => 0 * a j) = 1; last by rewrite ln_1; ring.
  rewrite /mass -[RHS](mean_const 1 hw); apply: mean_ext => j; by rewrite Rmult_0_l exp_0.
have g1 : gap 1 = ln (mass w a) - (mean w a + o ^ 2 / 8) by rewrite /gap one; field.
by have := rise c c0; rewrite g0 g1 in e; lra.
Qed.

(* With a temperature, and in both bounds: weights, and value, of which n is the number of scores.
   Claim: softmax.hot. *)
Theorem hot_value (I : finType) (s : I -> R) tau o : 0 < tau -> inhabited I -> (forall i j, s i - s j <= o) ->
  let n := INR #|I| in
  \sum_i Rabs (softmax (fun i => s i / tau) i - / n) <= 2 * tanh (o / (4 * tau)) /\
  2 * tanh (o / (4 * tau)) <= o / (2 * tau) /\
  0 <= tau * lse (fun i => s i / tau) - (\sum_i s i) / n - tau * ln n <= o ^ 2 / (8 * tau).
Proof.
move=> t0 point ho n.
have n0 : 0 < n by case: point => k; apply: lt_0_INR; apply/ltP; apply/card_gt0P; exists k.
have o0 : 0 <= o by case: point => k; have := ho k k; lra.
have i0 : 0 < / tau by apply: Rinv_0_lt_compat.
have range i j : s i / tau - s j / tau <= o / tau.
  by have := Rmult_le_compat_r (/ tau) _ _ (Rlt_le _ _ i0) (ho i j); rewrite /Rdiv; lra.
have even : law (fun _ : I => / n).
  by split=> [_|]; [left; apply: Rinv_0_lt_compat | rewrite sum_const -/n; field; lra].
have flat i : softmax (fun _ : I => 0) i = / n.
  by rewrite /softmax /normaliser exp_0 sum_const -/n; field; lra.
have quarter : o / (4 * tau) = o / tau / 4 by field; lra.
split; last split.
- have := hot point range; rewrite /TV quarter.
  have -> : \sum_i Rabs (softmax (fun j => s j / tau) i - softmax (fun=> 0) i) =
    \sum_i Rabs (softmax (fun j => s j / tau) i - / n) by apply: sum_ext => i; rewrite flat.
  by lra.
- have := tanh_le (ltac:(by apply: Rmult_le_pos; [lra | left; apply: Rinv_0_lt_compat; lra]) : 0 <= o / (4 * tau)).
  by have -> : o / (2 * tau) = 2 * (o / (4 * tau)) by [field; lra]; lra.
have [low high] := hoeffding even range.
have m : mean (fun=> / n) (fun i => s i / tau) = (\sum_i s i) / n / tau.
  by rewrite /mean /Rdiv sumZ sumZr; ring.
have z : ln (mass (fun=> / n) (fun i => s i / tau)) = lse (fun i => s i / tau) - ln n.
  rewrite /mass /mean sumZ -/(normaliser (fun i => s i / tau)) ln_mult;
    [|exact: Rinv_0_lt_compat|exact: normaliser_gt0].
  by rewrite ln_Rinv // /lse; ring.
rewrite m z in low high; set L := lse _ in low high *; set S := \sum_i s i in low high *.
have e1 : tau * (S / n / tau) = S / n by field; lra.
have e2 : tau * (S / n / tau + (o / tau) ^ 2 / 8) = S / n + o ^ 2 / (8 * tau) by field; lra.
have e3 : tau * (L - ln n) = tau * L - tau * ln n by ring.
have := Rmult_le_compat_l tau _ _ (Rlt_le _ _ t0) low; have := Rmult_le_compat_l tau _ _ (Rlt_le _ _ t0) high.
by rewrite e1 e2 e3; lra.
Qed.

(* Twin: the gap taken one per cent larger, two scores 1 and 0 and equal weights.
   Twin of: vertex. *)
Theorem not_vertex_gap : ~ forall (I : finType) (p s : I -> R) (A : I -> bool) top delta, law p ->
  (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) -> 0 < delta ->
  101 / 100 * delta * lost A p <= top - mean p s.
Proof.
move=> h; have := h [finType of bool] (fun=> / 2) (fun b => if b then 1 else 0) (fun b => b) 1 1.
rewrite /lost /mean !big_bool /= => k.
have : 101 / 100 * 1 * (0 + / 2) <= 1 - (/ 2 * 1 + / 2 * 0).
  apply: k; [split=> [b|]; rewrite ?big_bool /=; lra | by case | by case=> // _; lra | lra].
by lra.
Qed.

(* Twin: a quarter of the range is not a half of a quarter; two scores 1 and -1 of range 2 against equal ones.
   Twin of: hot, hot_value, softmax_TV, softmax_TV_temperature. *)
Theorem not_hot_eighth : ~ forall (I : finType) (s : I -> R) o, inhabited I -> (forall i j, s i - s j <= o) ->
  TV (softmax s) (softmax (fun=> 0)) <= tanh (o / 8).
Proof.
have point : inhabited [finType of bool] by constructor; exact: true.
move=> h; have := h [finType of bool] (fun b => if b then 1 else -1) 2 point.
move=> /(_ (fun b c => ltac:(case: b; case: c; lra))); rewrite /TV /softmax /normaliser !big_bool /= exp_0.
have e := exp_pos 1; have -> : exp (-1) = / exp 1 by rewrite -exp_Ropp; congr exp; ring.
set E := exp 1 in e *; have E1 : 2 <= E by have := exp_ineq1_le 1; rewrite -/E; lra.
have -> : E / (E + / E) - 1 / (1 + 1) = (E * E - 1) / (2 * (E * E + 1)) by field; nra.
have -> : / E / (E + / E) - 1 / (1 + 1) = - ((E * E - 1) / (2 * (E * E + 1))) by field; nra.
have q : 3 / 10 <= (E * E - 1) / (2 * (E * E + 1)).
  have -> : (E * E - 1) / (2 * (E * E + 1)) = 1 / 2 - / (E * E + 1) by field; nra.
  have : / (E * E + 1) <= / 5 by apply: Rinv_le_contravar; nra.
  by lra.
rewrite Rabs_Ropp Rabs_pos_eq; last by lra.
have t : tanh (2 / 8) <= 1 / 4.
  case: (MVT_gen (fun x => x - tanh x) 0 (1 / 4) (fun x => tanh x ^ 2)) => [x _|x _|c [_ e']].
  - rewrite /tanh /sinh /cosh; auto_derive; first by have := exp_pos x; have := exp_pos (- x); lra.
    by have := exp_pos x; have := exp_pos (- x); rewrite /= => *; field; lra.
  - rewrite /tanh /sinh /cosh; apply: continuity_pt_minus; first by apply: derivable_continuous_pt; reg.
    apply: derivable_continuous_pt; reg; have := exp_pos x; have := exp_pos (- x); lra.
  have -> : 2 / 8 = 1 / 4 by field.
  have t0 : tanh 0 = 0 by rewrite /tanh /sinh /cosh Ropp_0 exp_0; field.
  by move: e'; rewrite t0; have := pow2_ge_0 (tanh c); lra.
by lra.
Qed.

(* Twin: twice the lead in the exponent; two scores 1 and 0.
   Twin of: cold. *)
Theorem not_cold_twice : ~ forall (I : finType) (s : I -> R) (A : pred I) top delta, inhabited I -> (exists i, A i) ->
  (forall i, A i -> s i = top) -> (forall i, ~~ A i -> s i <= top - delta) -> lost A (softmax s) <=
  (\sum_i (if A i then 0 else 1)) / (\sum_i (if A i then 1 else 0)) * exp (- (2 * delta)).
Proof.
move=> h; have := h [finType of bool] (fun b => if b then 1 else 0) (fun b => b) 1 1 (inhabits true)
  (ex_intro _ true isT).
move=> /(_ (fun b => ltac:(by case: b))) /(_ (fun b => ltac:(case: b => //= _; lra))).
rewrite /lost /softmax /normaliser !big_bool /= exp_0.
have -> : exp (- (2 * 1)) = / (exp 1 * exp 1) by rewrite exp_Ropp -exp_plus; congr (/ exp _); ring.
set E := exp 1; have E1 : 2 <= E by have := exp_ineq1_le 1; rewrite -/E; lra.
have : / (E * E) < / (E + 1) by apply: Rinv_lt_contravar; nra.
by lra.
Qed.

(* Twin: equal scores have equal weights, without strict concavity; no entropy, where every law is best.
   Twin of: order. *)
Theorem not_order_flat : ~ forall (I : finType) (Om : (I -> R) -> R) (s p : I -> R) i j,
  (forall q, law q -> Om (fun k => q (exchange i j k)) = Om q) -> best Om s p -> s i = s j -> p i = p j.
Proof.
pose f (b : bool) := if b then 1 else 0.
have hf : law f by split=> [[]|]; rewrite ?big_bool /f /=; lra.
have b0 : best (fun=> 0) (fun _ : bool => 0) f by split=> // r hr; rewrite /gain !mean_const //; lra.
by move=> h; have := h _ (fun=> 0) (fun=> 0) f true false (fun _ _ => erefl) b0 erefl; rewrite /f; lra.
Qed.

(* Twin: a tenth of the squared range for an eighth, in the value; two scores 1 and -1.
   Twin of: hot_value. *)
Theorem not_hot_tenth : ~ forall (I : finType) (s : I -> R) tau o, 0 < tau -> inhabited I ->
  (forall i j, s i - s j <= o) ->
  tau * lse (fun i => s i / tau) - (\sum_i s i) / INR #|I| - tau * ln (INR #|I|) <= o ^ 2 / (10 * tau).
Proof.
move=> h; have := h _ (fun b : bool => if b then 1 else -1) 1 2 Rlt_0_1 (inhabits true).
move=> /(_ (fun i j => ltac:(case: i; case: j; lra))); rewrite /lse /normaliser !big_bool card_bool /=.
have -> : (1 + -1) / (1 + 1) = 0 by field.
have -> : -1 / 1 = -1 by field.
have -> : 1 / 1 = 1 by field.
have : 41 / 100 < ln (exp 1 + exp (-1)) - ln (1 + 1) by interval with (i_prec 40).
by lra.
Qed.
