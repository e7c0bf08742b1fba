(* Entmax of any order above one: it is optimal for the Tsallis entropy, its weights are positive just where the leads
   of others are small, and a sure winner needs a lead of 1 / (alpha - 1).

   Reader's checklist: [power x a] is x^a for x > 0 and 0 else, since [Rpower] is not 0 at 0; [entmax alpha s p] is a
   relation, that p has the form (1 + (alpha - 1)(s - nu))_+ ^ (1 / (alpha - 1)) for some nu and sums to one;
   temperature one, orders up to one not meant; that there is such a p is in [Threshold], and [entmax_unique] says that
   there is not more than one. entmax.optimal also has a gap with gradients, which is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Jacobian FenchelYoung.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Definition power (x a : R) := if Rlt_dec 0 x then Rpower x a else 0.

Lemma power_pos x a : 0 < x -> power x a = Rpower x a.
Proof. by rewrite /power; case: Rlt_dec. Qed.

Lemma power_neg x a : x <= 0 -> power x a = 0.
Proof. by move=> h; rewrite /power; case: Rlt_dec => // k; lra. Qed.

Lemma Rpower_gt0 x a : 0 < Rpower x a.
Proof. exact: exp_pos. Qed.

Lemma power_ge0 x a : 0 <= power x a.
Proof. by rewrite /power; case: Rlt_dec => h /=; [left; apply: Rpower_gt0 | lra]. Qed.

Lemma power_gt0 x a : 0 < power x a <-> 0 < x.
Proof. by rewrite /power; case: Rlt_dec => h /=; split=> k; try lra; apply: Rpower_gt0. Qed.

Lemma power_le x y a : 0 <= a -> x <= y -> power x a <= power y a.
Proof.
move=> a0 h; case: (Rlt_dec 0 x) => [x0|x0]; last by rewrite (power_neg (x := x)); [apply: power_ge0 | lra].
by rewrite !power_pos; [apply: Rle_Rpower_l | lra | lra].
Qed.

Lemma power_lt x y a : 0 < a -> 0 < y -> x < y -> power x a < power y a.
Proof.
move=> a0 y0 h; rewrite (power_pos _ y0); case: (Rlt_dec 0 x) => [x0|x0].
  by rewrite power_pos //; apply: Rlt_Rpower_l.
by rewrite power_neg; [apply: Rpower_gt0 | lra].
Qed.

Lemma power_scale c x a : 0 < c -> power (c * x) a = Rpower c a * power x a.
Proof.
move=> c0; case: (Rlt_dec 0 x) => [x0|n].
  by rewrite !power_pos ?Rpower_mult_distr //; apply: Rmult_lt_0_compat.
rewrite !(@power_neg _ a); [ring | lra |].
by have := Rmult_le_compat_l c x 0 ltac:(lra) ltac:(lra); lra.
Qed.

Lemma power_root x a : a <> 0 -> power (power x (/ a)) a = Rmax x 0.
Proof.
move=> ha; case: (Rlt_dec 0 x) => [x0|x0].
  rewrite (power_pos _ x0) power_pos; last exact: Rpower_gt0.
  by rewrite Rpower_mult Rinv_l // Rpower_1 // Rmax_left; lra.
by rewrite (power_neg (x := x)) ?power_neg ?Rmax_right; lra.
Qed.

(* Bernoulli, and the tangents of a power. *)
Lemma bernoulli t alpha : 1 < alpha -> 1 + alpha * (exp t - 1) <= exp (alpha * t).
Proof.
move=> h; have e := exp_pos t.
have k : exp t * (1 + (alpha - 1) * t) <= exp (alpha * t).
  have -> : alpha * t = t + (alpha - 1) * t by ring.
  rewrite exp_plus; apply: Rmult_le_compat_l; [lra | exact: exp_ineq1_le].
have l : exp t * (1 - t) <= 1.
  have m := Rmult_le_compat_l (exp t) _ _ (Rlt_le _ _ e) (exp_ineq1_le (- t)).
  by rewrite -exp_plus Rplus_opp_r exp_0 in m; lra.
by have := Rmult_le_compat_l (alpha - 1) _ _ ltac:(lra) l; nra.
Qed.

Lemma power_tangent a b alpha : 1 < alpha -> 0 <= a -> 0 <= b ->
  power a alpha + alpha * power a (alpha - 1) * (b - a) <= power b alpha.
Proof.
move=> h a0 b0; case: (Req_dec a 0) => [->|ne].
  have le0 : 0 <= 0 by lra.
  by rewrite !(power_neg _ le0); have := power_ge0 b alpha; lra.
have ap : 0 < a by lra.
rewrite !(power_pos _ ap); have e : Rpower a alpha = Rpower a (alpha - 1) * a.
  by rewrite -{3}(Rpower_1 a ap) -Rpower_plus; congr Rpower; ring.
have g := Rpower_gt0 a (alpha - 1); case: (Req_dec b 0) => [->|bn].
  rewrite power_neg; last by lra.
  by rewrite e; have := Rmult_lt_0_compat _ _ g ap; nra.
have bp : 0 < b by lra.
rewrite power_pos //; have u0 : 0 < b / a by apply: Rdiv_lt_0_compat.
have -> : Rpower b alpha = Rpower a alpha * Rpower (b / a) alpha.
  by rewrite Rpower_mult_distr //; congr Rpower; field; lra.
have := bernoulli (ln (b / a)) h; rewrite exp_ln // -/(Rpower (b / a) alpha) => k.
have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ (Rpower_gt0 a alpha)) k.
have -> : Rpower a alpha * (1 + alpha * (b / a - 1)) = Rpower a alpha + alpha * Rpower a (alpha - 1) * (b - a).
  by rewrite e; field; lra.
by [].
Qed.

Section Entmax.
Variable I : finType.
Implicit Types (s p q : I -> R) (alpha nu : R).

Definition entmax alpha s p :=
  exists nu, (forall i, p i = power (1 + (alpha - 1) * (s i - nu)) (/ (alpha - 1))) /\ \sum_i p i = 1.

(* The Tsallis entropy is minus this. *)
Definition tsallis alpha p := - (1 - \sum_i power (p i) alpha) / (alpha * (alpha - 1)).

(* It vanishes at a vertex; at order two it is half of the sum of squares less one; and at equal weights. *)
Lemma tsallis_sure alpha (k : I) : tsallis alpha (fun i => if i == k then 1 else 0) = 0.
Proof.
rewrite /tsallis; have -> : \sum_i power (if i == k then 1 else 0) alpha = 1; last by rewrite /Rdiv; ring.
have one : power 1 alpha = 1 by rewrite power_pos /Rpower; [rewrite ln_1 Rmult_0_r exp_0 | lra].
have -> : \sum_i power (if i == k then 1 else 0) alpha = \sum_i (if i == k then 1 else 0).
  by apply: sum_ext => i; case: eqP => // _; rewrite power_neg; lra.
by rewrite -big_mkcond big_pred1_eq.
Qed.

Lemma tsallis_two p : law p -> tsallis 2 p = - (1 - \sum_i p i ^ 2) / 2.
Proof.
move=> [p0 _]; rewrite /tsallis; have -> : \sum_i power (p i) 2 = \sum_i p i ^ 2; last by field.
apply: sum_ext => i; case: (p0 i) => [pi|<-]; last by rewrite power_neg; [ring | lra].
by rewrite power_pos // -(Rpower_pow 2) // INR_IZR_INZ.
Qed.

Lemma tsallis_equal alpha : inhabited I ->
  tsallis alpha (fun _ : I => / INR #|I|) = - (1 - Rpower (INR #|I|) (1 - alpha)) / (alpha * (alpha - 1)).
Proof.
case=> k; have n0 : 0 < INR #|I| by apply: lt_0_INR; apply/ltP; apply/card_gt0P; exists k.
rewrite /tsallis sum_const power_pos; last by apply: Rinv_0_lt_compat.
have -> : INR #|I| * Rpower (/ INR #|I|) alpha = Rpower (INR #|I|) (1 - alpha) => //.
rewrite /Rpower ln_Rinv // -{1}(exp_ln _ n0) -exp_plus; congr exp; ring.
Qed.

(* Minus Shannon's entropy is the limit at order one. *)
Lemma tsallis_limit p : law p -> is_lim (fun alpha => tsallis alpha p) 1 (- entropy p).
Proof.
move=> [p0 p1].
have dg : is_derive (fun alpha => \sum_i power (p i) alpha) 1 (\sum_i (p i * ln (p i))).
  apply: is_derive_sum => i; case: (p0 i) => [pi|<-].
    apply: (is_derive_ext (fun alpha => exp (alpha * ln (p i)))) => [alpha|]; first by rewrite power_pos.
    by auto_derive => //; rewrite Rmult_1_l exp_ln //; ring.
  rewrite Rmult_0_l; apply: (is_derive_ext (fun=> 0)) => [alpha|]; last exact: is_derive_const.
  by rewrite power_neg; lra.
have one : \sum_i power (p i) 1 = 1.
  rewrite -[RHS]p1; apply: sum_ext => i; case: (p0 i) => [pi|<-]; last by rewrite power_neg; lra.
  by rewrite (power_pos _ pi); apply: Rpower_1.
move/is_derive_Reals: dg; set g := fun alpha => _; set l := \sum_i _ => dg.
have -> : - entropy p = l by rewrite /entropy -/l; ring.
have quotient : is_lim (fun alpha => (g alpha - g 1) / (alpha - 1)) 1 l.
  apply/is_lim_spec => eps; case: (dg eps (cond_pos eps)) => d hd; exists d => alpha near ne.
  have := hd (alpha - 1) ltac:(lra) near; have -> : 1 + (alpha - 1) = alpha by ring.
  by [].
have inv : is_lim (fun alpha => / alpha) 1 (/ 1).
  by apply: is_lim_continuity; apply: continuity_pt_inv; [apply: continuity_pt_id | lra].
have := is_lim_mult _ _ _ _ _ quotient inv Logic.I; rewrite /= Rinv_1 Rmult_1_r.
apply: is_lim_ext_loc; exists (mkposreal 1 Rlt_0_1) => alpha near ne.
have a0 : alpha <> 0 by move=> z; move: near; rewrite z /ball /= /AbsRing_ball /abs /minus /plus /opp /= Rabs_left; lra.
by rewrite /g one /tsallis; field; lra.
Qed.

(* No outcome is preferred, at any order, nor by Shannon's entropy. *)
Lemma tsallis_turned alpha p (turn : I -> I) : injective turn ->
  tsallis alpha (fun i => p (turn i)) = tsallis alpha p /\ entropy (fun i => p (turn i)) = entropy p.
Proof. by move=> inj; rewrite /tsallis /entropy; split; rewrite [in RHS](reindex_inj inj). Qed.

Lemma entmax_law alpha s p : entmax alpha s p -> law p.
Proof. by case=> nu [e h]; split=> // i; rewrite e; apply: power_ge0. Qed.

(* It maximises mean score plus entropy.
   Part of: entmax.optimal. *)
Theorem entmax_optimal alpha s p : 1 < alpha -> entmax alpha s p -> best (tsallis alpha) s p.
Proof.
move=> h hp; have lp := entmax_law hp; split=> // q hq; case: hp => nu [e _].
have a1 : alpha - 1 <> 0 by lra.
set c := nu - / (alpha - 1).
have term i : p i * s i - power (p i) alpha / (alpha * (alpha - 1)) - c * p i >=
    q i * s i - power (q i) alpha / (alpha * (alpha - 1)) - c * q i.
  have t := power_tangent h (proj1 lp i) (proj1 hq i).
  have r : power (p i) (alpha - 1) = Rmax (1 + (alpha - 1) * (s i - nu)) 0 by rewrite e power_root.
  have i0 : 0 < / (alpha * (alpha - 1)) by apply: Rinv_0_lt_compat; nra.
  have t' := Rmult_le_compat_r _ _ _ (Rlt_le _ _ i0) t.
  have split_ : (power (p i) alpha + alpha * power (p i) (alpha - 1) * (q i - p i)) * / (alpha * (alpha - 1)) =
    power (p i) alpha / (alpha * (alpha - 1)) + power (p i) (alpha - 1) / (alpha - 1) * (q i - p i) by field; lra.
  rewrite split_ r in t'.
  suff : (s i - c) * (q i - p i) <= Rmax (1 + (alpha - 1) * (s i - nu)) 0 / (alpha - 1) * (q i - p i).
    by rewrite /Rdiv in t' *; lra.
  rewrite /Rmax; case: Rle_dec => k.
    have -> : p i = 0 by rewrite e power_neg.
    have : s i - c <= 0 / (alpha - 1).
      rewrite /c; apply: (Rmult_le_reg_l (alpha - 1)); first by lra.
      have -> : (alpha - 1) * (s i - (nu - / (alpha - 1))) = 1 + (alpha - 1) * (s i - nu) by field.
      have -> : (alpha - 1) * (0 / (alpha - 1)) = 0 by field.
      by lra.
    by move=> le; apply: Rmult_le_compat_r => //; have := proj1 hq i; lra.
  by right; rewrite /c; field; lra.
have : \sum_i (q i * s i - power (q i) alpha / (alpha * (alpha - 1)) - c * q i) <=
  \sum_i (p i * s i - power (p i) alpha / (alpha * (alpha - 1)) - c * p i).
  by apply: sum_le => i; apply: Rge_le.
rewrite !sumB !sumZ (proj2 lp) (proj2 hq) /gain /tsallis /mean.
have out w : \sum_i (power (w i) alpha / (alpha * (alpha - 1))) = (\sum_i power (w i) alpha) / (alpha * (alpha - 1)).
  by rewrite /Rdiv sumZr.
by rewrite !out /Rdiv; lra.
Qed.

Lemma base alpha s nu i : 1 < alpha ->
  1 + (alpha - 1) * (s i - nu) = (alpha - 1) * (s i - (nu - / (alpha - 1))).
Proof. by move=> h; field; lra. Qed.

(* A weight is positive iff the leads over its score are small.
   Part of: entmax.support. *)
Theorem entmax_support alpha s p i : 1 < alpha -> entmax alpha s p ->
  (0 < p i <-> \sum_j power ((alpha - 1) * (s j - s i)) (/ (alpha - 1)) < 1).
Proof.
move=> h [nu [e one]]; have a0 : 0 < / (alpha - 1) by apply: Rinv_0_lt_compat; lra.
set t := nu - / (alpha - 1); have form j : p j = power ((alpha - 1) * (s j - t)) (/ (alpha - 1)) by rewrite e base.
rewrite form power_gt0; split=> [pos|lt].
  have lead : t < s i by case: (Rlt_dec t (s i)) => // n; exfalso; have := Rmult_le_compat_l (alpha - 1) (s i - t) 0
    ltac:(lra) ltac:(lra); lra.
  have le j : power ((alpha - 1) * (s j - s i)) (/ (alpha - 1)) <= p j.
    by rewrite form; apply: power_le; [lra | apply: Rmult_le_compat_l; lra].
  have strict : power ((alpha - 1) * (s i - s i)) (/ (alpha - 1)) < p i.
    rewrite form power_neg; last by rewrite (Rminus_diag_eq (s i) (s i)) // Rmult_0_r; apply: Rle_refl.
    by apply/power_gt0; apply: Rmult_lt_0_compat; lra.
  have : 0 < \sum_j (p j - power ((alpha - 1) * (s j - s i)) (/ (alpha - 1))).
    apply: (Rlt_le_trans _ (p i - power ((alpha - 1) * (s i - s i)) (/ (alpha - 1)))); first by lra.
    by apply: (sum_term (f := fun j => p j - power ((alpha - 1) * (s j - s i)) (/ (alpha - 1)))) => j;
      have := le j; lra.
  by rewrite sumB one; lra.
apply: Rmult_lt_0_compat; first by lra.
case: (Rlt_dec t (s i)) => [|n]; first by lra.
suff : 1 <= \sum_j power ((alpha - 1) * (s j - s i)) (/ (alpha - 1)) by lra.
by rewrite -{1}one; apply: sum_le => j; rewrite form; apply: power_le; [lra | apply: Rmult_le_compat_l; lra].
Qed.

(* With a temperature, and when all have weight: the last sum is a power of a norm of the leads over the lowest score.
   Claim: entmax.support. *)
Theorem entmax_support_temperature alpha tau s p : 1 < alpha -> 0 < tau ->
  entmax alpha (fun i => s i / tau) p ->
  (forall i, 0 < p i <-> \sum_j power ((alpha - 1) * (s j - s i) / tau) (/ (alpha - 1)) < 1) /\
  forall low, (exists i, s i = low) -> (forall i, low <= s i) ->
    ((forall i, 0 < p i) <-> (alpha - 1) * power (\sum_j power (s j - low) (/ (alpha - 1))) (alpha - 1) < tau).
Proof.
move=> a1 t0 hp; set q := / (alpha - 1); have q0 : 0 < q by apply: Rinv_0_lt_compat; lra.
have support i : 0 < p i <-> \sum_j power ((alpha - 1) * (s j - s i) / tau) q < 1.
  rewrite (entmax_support i a1 hp); have -> // : \sum_j power ((alpha - 1) * (s j / tau - s i / tau)) q =
    \sum_j power ((alpha - 1) * (s j - s i) / tau) q by apply: sum_ext => j; congr power; field; lra.
split=> // low [m <-] least; set c := (alpha - 1) / tau.
have c0 : 0 < c by apply: Rdiv_lt_0_compat; lra.
set S := \sum_j power (s j - s m) q; have S0 : 0 <= S by apply: sum_ge0 => j; apply: power_ge0.
have scaled i : \sum_j power ((alpha - 1) * (s j - s i) / tau) q = Rpower c q * \sum_j power (s j - s i) q.
  rewrite -sumZ; apply: sum_ext => j; rewrite -power_scale //; congr power; rewrite /c; field; lra.
have one : Rpower c q * S < 1 <-> (alpha - 1) * power S (alpha - 1) < tau.
  have -> : (alpha - 1) * power S (alpha - 1) = tau * (c * power S (alpha - 1)) by rewrite /c; field; lra.
  case: S0 => [S0|<-]; last by rewrite power_neg; lra.
  rewrite power_pos //; set r := Rpower c q * S.
  have r0 : 0 < r by apply: Rmult_lt_0_compat => //; apply: Rpower_gt0.
  have -> : c * Rpower S (alpha - 1) = Rpower r (alpha - 1).
    rewrite /r -Rpower_mult_distr //; last exact: Rpower_gt0.
    by rewrite Rpower_mult /q Rinv_l ?Rpower_1; lra.
  have one1 : Rpower 1 (alpha - 1) = 1 by rewrite /Rpower ln_1 Rmult_0_r exp_0.
  split=> h.
    have : Rpower r (alpha - 1) < Rpower 1 (alpha - 1) by apply: Rlt_Rpower_l; lra.
    by rewrite one1 => k; have := Rmult_lt_compat_l tau _ _ t0 k; lra.
  apply: Rnot_le_lt => le; have : Rpower 1 (alpha - 1) <= Rpower r (alpha - 1) by apply: Rle_Rpower_l; lra.
  by rewrite one1 => k; have := Rmult_le_compat_l tau _ _ (Rlt_le _ _ t0) k; lra.
split=> [every|lt i]; first by apply/one; rewrite -scaled; apply/support.
apply/support; rewrite scaled; apply: Rle_lt_trans (proj2 one lt).
apply: Rmult_le_compat_l; first by left; apply: Rpower_gt0.
by apply: sum_le => j; apply: power_le; [lra | have := least i; lra].
Qed.

(* The law is unique, though thresholds are defined by a sum.
   Part of: entmax.optimal. *)
Theorem entmax_unique alpha s p q : 1 < alpha -> entmax alpha s p -> entmax alpha s q -> forall i, p i = q i.
Proof.
move=> h; have a0 : 0 < / (alpha - 1) by apply: Rinv_0_lt_compat; lra.
have le nu nu' (p' q' : I -> R) : nu <= nu' ->
    (forall i, p' i = power (1 + (alpha - 1) * (s i - nu)) (/ (alpha - 1))) -> \sum_i p' i = 1 ->
    (forall i, q' i = power (1 + (alpha - 1) * (s i - nu')) (/ (alpha - 1))) -> \sum_i q' i = 1 ->
    forall i, p' i = q' i.
  move=> hn ep sp eq sq i; have d j : 0 <= p' j - q' j.
    suff : q' j <= p' j by lra.
    rewrite ep eq; apply: power_le; first by lra.
    by have := Rmult_le_compat_l (alpha - 1) (s j - nu') (s j - nu) ltac:(lra) ltac:(lra); lra.
  have z : \sum_j (p' j - q' j) = 0 by rewrite sumB sp sq; ring.
  by have := sum_eq0 d z i; lra.
move=> [nu [ep sp]] [nu' [eq sq]] i; case: (Rle_dec nu nu') => hn; first exact: (le nu nu').
by symmetry; apply: (le nu' nu) => //; lra.
Qed.

(* A sure winner needs this lead, and has it.
   Part of: loss.margin. *)
Theorem entmax_margin alpha s k : 1 < alpha -> let sure := fun i => if i == k then 1 else 0 in
  (entmax alpha s sure <-> forall j, j != k -> s j + / (alpha - 1) <= s k) /\
  (entmax alpha s sure -> shortfall (tsallis alpha) s sure sure = 0 /\ best (tsallis alpha) s sure).
Proof.
move=> h sure; have a0 : 0 < / (alpha - 1) by apply: Rinv_0_lt_compat; lra.
have inv : (alpha - 1) * / (alpha - 1) = 1 by field; lra.
split; last by move=> hs; split; [rewrite /shortfall; ring | apply: entmax_optimal].
split=> [[nu [e _]] j ne|lead].
  have top : (alpha - 1) * (s k - nu) = 0.
    have := e k; rewrite /sure eqxx; case: (Rlt_dec 0 (1 + (alpha - 1) * (s k - nu))) => [p0|n]; last first.
      by rewrite power_neg; lra.
    move=> one; have a1 : alpha - 1 <> 0 by lra.
    have r := power_root (1 + (alpha - 1) * (s k - nu)) a1; rewrite -one Rmax_left in r; last by lra.
    have : power 1 (alpha - 1) = 1 by rewrite power_pos /Rpower; [rewrite ln_1 Rmult_0_r exp_0 | lra].
    by lra.
  have low : 1 + (alpha - 1) * (s j - nu) <= 0.
    have := e j; rewrite /sure (negbTE ne) => z; apply: Rnot_lt_le => p0.
    by have := proj2 (power_gt0 _ (/ (alpha - 1))) p0; lra.
  have : (alpha - 1) * (s j + / (alpha - 1) - s k) <= 0 by rewrite Rmult_minus_distr_l Rmult_plus_distr_l inv; lra.
  by move=> w; apply: Rnot_lt_le => p0; have := Rmult_lt_0_compat (alpha - 1) (s j + / (alpha - 1) - s k)
    ltac:(lra) ltac:(lra); lra.
exists (s k); split=> [i|]; last by rewrite /sure -big_mkcond big_pred1_eq.
rewrite /sure; case: eqP => [->|/eqP ne].
  rewrite (Rminus_diag_eq (s k) (s k)) // Rmult_0_r Rplus_0_r.
  by rewrite power_pos /Rpower; [rewrite ln_1 Rmult_0_r exp_0 | lra].
rewrite power_neg //; have := Rmult_le_compat_l (alpha - 1) _ _ ltac:(lra) (lead i ne).
by rewrite Rmult_plus_distr_l inv; lra.
Qed.
End Entmax.

(* Twin: half of the lead is not enough, at order two and for two scores 1/2 and 0.
   Twin of: entmax_margin. *)
Theorem not_half_the_lead : ~ forall (I : finType) alpha (s : I -> R) k, 1 < alpha ->
  (forall j, j != k -> s j + / 2 * / (alpha - 1) <= s k) -> entmax alpha s (fun i => if i == k then 1 else 0).
Proof.
have two : 1 < 2 by lra.
move=> h; have := h [finType of bool] 2 (fun b => if b then / 2 else 0) true two.
move=> k; have : entmax 2 (fun b : bool => if b then / 2 else 0) (fun i => if i == true then 1 else 0).
  by apply: k; case=> //= _; have -> : 2 - 1 = 1 by [ring]; rewrite Rinv_1; lra.
move/(proj1 (entmax_margin (fun b : bool => if b then / 2 else 0) true two)).
move/(_ false isT); have -> : 2 - 1 = 1 by ring.
by rewrite Rinv_1; lra.
Qed.

(* A sure winner of two, at order two. *)
Lemma entmax_two_sure : entmax 2 (fun b : bool => if b then 1 else 0) (fun b => if b == true then 1 else 0).
Proof.
have a1 : 1 < 2 by lra.
apply: (proj2 (proj1 (entmax_margin (fun b : bool => if b then 1 else 0) true a1))) => j; case: j => //= _.
have -> : 2 - 1 = 1 by ring.
by rewrite Rinv_1; lra.
Qed.

(* Twin: an order below one, where two laws have the form; order a half, scores 91/30 and 0, thresholds 0 and 16/5.
   Twin of: entmax_unique. *)
Theorem not_unique_below_one : ~ forall (I : finType) alpha (s p q : I -> R), 0 < alpha -> entmax alpha s p ->
  entmax alpha s q -> forall i, p i = q i.
Proof.
have sq x : 0 < x -> power x (/ (/ 2 - 1)) = / (x * x).
  move=> x0; have -> : / (/ 2 - 1) = - (1 + 1) by field.
  by rewrite power_pos // Rpower_Ropp Rpower_plus Rpower_1.
move=> h; pose s (b : bool) := if b then 91 / 30 else 0.
have a : entmax (/ 2) s (fun b => if b then 0 else 1).
  exists 0; split; last by rewrite big_bool /=; lra.
  by rewrite /s; case; [rewrite power_neg; lra | rewrite sq; lra].
have b : entmax (/ 2) s (fun b => if b then 144 / 169 else 25 / 169).
  exists (16 / 5); split; last by rewrite big_bool /=; lra.
  by rewrite /s; case; rewrite sq; lra.
by have := h _ _ _ _ _ (ltac:(lra) : 0 < / 2) a b true; lra.
Qed.

(* Twin: twice the entropy; order two, scores 1 and 0, the law 3/4 and 1/4.
   Twin of: entmax_optimal. *)
Theorem not_optimal_twice : ~ forall (I : finType) alpha (s p : I -> R), 1 < alpha -> entmax alpha s p ->
  best (fun q => 2 * tsallis alpha q) s p.
Proof.
have sq x : 0 < x -> power x 2 = x ^ 2 by move=> x0; rewrite power_pos // -Rpower_pow // INR_IZR_INZ.
move=> h; have [_ le] := h _ _ _ _ (ltac:(lra) : 1 < 2) entmax_two_sure.
have hq : law (fun b : bool => if b then 3 / 4 else 1 / 4) by split=> [[]|]; rewrite ?big_bool /=; lra.
have := le _ hq; rewrite /gain /tsallis /mean !big_bool /= (power_neg _ (Rle_refl 0)) !sq; lra.
Qed.

(* Twin: a sum of one still gives weight; order two, scores 1 and 0.
   Twin of: entmax_support, entmax_support_temperature. *)
Theorem not_support_closed : ~ forall (I : finType) alpha (s p : I -> R) i, 1 < alpha -> entmax alpha s p ->
  (0 < p i <-> \sum_j power ((alpha - 1) * (s j - s i)) (/ (alpha - 1)) <= 1).
Proof.
move=> h; have [_ to] := h _ _ _ _ false (ltac:(lra) : 1 < 2) entmax_two_sure.
suff : 0 < 0 by lra.
apply: to; rewrite big_bool /=; have -> : 2 - 1 = 1 by ring.
rewrite Rinv_1; have -> : 1 * (0 - 0) = 0 by ring.
by rewrite (power_neg _ (Rle_refl 0)) power_pos ?Rpower_1; lra.
Qed.
