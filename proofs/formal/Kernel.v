(* Attention as a Boltzmann-Gibbs transform of masses: composition, masses as scores, Gaussian weights, mixtures, total
   variation, reversibility; and the contraction of the range of values.

   Reader's checklist: [gibbs_law w a] of [Prior] is w_j exp(a_j) / sum_k w_k exp(a_k), so that densities are written as
   exponentials; laws have finitely many atoms; [TV] is half of the l_1 distance. layers.reversible has Gaussian weights
   of f, which are the scores - f / (2 eps) here. markov.boltzmann-gibbs restricts to sets, too, which is in [Masks].
   gibbs.contamination also measures distances, and bounds its share, which is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Softmax Euclid Transport Diameter Prior Tilt IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

(* The transform of [Prior] is that of [Tilt]. *)
Lemma gibbs_law_tilt (I : finType) (q x : I -> R) i : gibbs_law q x i = tilt q x i.
Proof. by rewrite /gibbs_law /tilt /density /gibbs_sum /mass /Rdiv; ring. Qed.

Section Kernel.
Variable I : finType.
Implicit Types (p q w s a b x : I -> R).

(* Transforms compose.
   Part of: markov.boltzmann-gibbs.
   No twin: an identity. *)
Theorem transforms_compose w a b : law w -> forall i,
  gibbs_law (gibbs_law w a) b i = gibbs_law w (fun j => a j + b j) i.
Proof.
move=> hw i; have za := gibbs_sum_gt0 a hw; have zab := gibbs_sum_gt0 (fun j => a j + b j) hw.
have e : gibbs_sum (gibbs_law w a) b = gibbs_sum w (fun j => a j + b j) / gibbs_sum w a.
  rewrite /gibbs_sum /Rdiv /mean -sumZr; apply: sum_ext => j.
  by rewrite /gibbs_law exp_plus /gibbs_sum /mean /Rdiv; ring.
by rewrite {1}/gibbs_law e {1}/gibbs_law /gibbs_law exp_plus; field; lra.
Qed.

(* Masses enter the scores as their logarithms.
   Part of: markov.padding. *)
Theorem masses_as_scores w s : (forall i, 0 < w i) -> forall i,
  gibbs_law w s i = softmax (fun j => s j + ln (w j)) i.
Proof.
move=> hw i; rewrite /gibbs_law /softmax; congr (_ / _).
  by rewrite exp_plus exp_ln //; ring.
by apply: sum_ext => j; rewrite exp_plus exp_ln //; ring.
Qed.

(* The Gibbs principle with a prior and without, as the claim has it; logarithms of a prior that is positive.
   Claim: softmax.prior. *)
Theorem softmax_prior q s tau : 0 < tau -> law q ->
  let best := gibbs_law q (fun i => s i / tau) in let value := tau * ln (\sum_i (q i * exp (s i / tau))) in
  (forall p, law p -> dominated p q -> mean p s - tau * KL p q = value - tau * KL p best /\
    mean p s - tau * KL p q <= value /\ (mean p s - tau * KL p q = value <-> forall i, p i = best i)) /\
  law best /\ dominated best q /\
  ((forall i, 0 < q i) -> forall i, best i = softmax (fun j => s j / tau + ln (q j)) i) /\
  (forall p, law p -> objective s tau p <= tau * lse (fun i => s i / tau) /\
    (objective s tau p = tau * lse (fun i => s i / tau) <-> forall i, p i = softmax (fun j => s j / tau) i)).
Proof.
move=> t0 hq best value; split=> [p hp pq|].
  have [gap rest] := gibbs_prior s t0 hq hp pq; split; last exact: rest.
  by have e : value - (mean p s - tau * KL p q) = tau * KL p best := gap; lra.
split; first exact: gibbs_law_law.
split; first by move=> i z; rewrite /best /gibbs_law z /Rdiv; ring.
by split=> [q0 i|p hp]; [apply: masses_as_scores | apply: gibbs].
Qed.

(* Masses as logarithms, a key of mass zero, whose score and value are of no account, and keys that are written n times.
   Claim: markov.padding. *)
Theorem padding w s v :
  ((forall i, 0 < w i) -> forall i, gibbs_law w s i = softmax (fun j => s j + ln (w j)) i) /\
  (forall i s' v', w i = 0 -> (forall j, j != i -> s' j = s j /\ v' j = v j) ->
    mean (gibbs_law w s') v' = mean (gibbs_law w s) v) /\
  forall n : I -> nat, (exists i, n i <> O) ->
    mean (softmax (fun c : {i : I & 'I_(n i)} => s (tag c))) (fun c => v (tag c)) =
    mean (gibbs_law (fun i => INR (n i)) s) v.
Proof.
split; first by move=> w0 i; apply: masses_as_scores.
split=> [i s' v' wi same|n [k nk]].
  have term j (z z' : R) : (j != i -> z' = z) -> w j * z' = w j * z.
    by case: (j =P i) => [-> _|_ ->] //; rewrite wi !Rmult_0_l.
  have g : gibbs_sum w s' = gibbs_sum w s by apply: sum_ext => j; apply: term => ne; rewrite (proj1 (same j ne)).
  apply: sum_ext => j; rewrite /gibbs_law g /Rdiv !Rmult_assoc; apply: term => ne.
  by rewrite (proj1 (same j ne)) (proj2 (same j ne)).
have sums (f : I -> R) : \big[Rplus/0]_(c : {i : I & 'I_(n i)}) f (tag c) = \sum_i (INR (n i) * f i).
  have <- := @sig_big_dep R 0 Rplus_com I (fun i => [finType of 'I_(n i)]) xpredT (fun i => xpredT) (fun i _ => f i).
  by apply: sum_ext => i; rewrite sum_const card_ord.
have z : normaliser (fun c : {i : I & 'I_(n i)} => s (tag c)) = gibbs_sum (fun i => INR (n i)) s.
  exact: (sums (fun i => exp (s i))).
rewrite /mean /softmax z; have e := sums (fun i => exp (s i) / gibbs_sum (fun i => INR (n i)) s * v i).
by rewrite e; apply: sum_ext => i; rewrite /gibbs_law /Rdiv; ring.
Qed.

(* A mixture of two laws transforms into a mixture, with this share.
   Part of: gibbs.contamination. *)
Theorem contamination w q a eps : law w -> law q -> 0 <= eps <= 1 ->
  let share := eps * gibbs_sum q a / ((1 - eps) * gibbs_sum w a + eps * gibbs_sum q a) in
  forall i, gibbs_law (fun j => (1 - eps) * w j + eps * q j) a i =
    (1 - share) * gibbs_law w a i + share * gibbs_law q a i.
Proof.
move=> hw hq he share i; have zw := gibbs_sum_gt0 a hw; have zq := gibbs_sum_gt0 a hq.
have e : gibbs_sum (fun j => (1 - eps) * w j + eps * q j) a = (1 - eps) * gibbs_sum w a + eps * gibbs_sum q a.
  by rewrite /gibbs_sum /mean -!sumZ -sumD; apply: sum_ext => j; ring.
have z : 0 < (1 - eps) * gibbs_sum w a + eps * gibbs_sum q a.
  case: (Rle_dec eps (1 / 2)) => h.
    by have := Rmult_lt_0_compat (1 - eps) _ ltac:(lra) zw; have := Rmult_le_pos eps _ ltac:(lra) (Rlt_le _ _ zq); lra.
  by have := Rmult_lt_0_compat eps _ ltac:(lra) zq; have := Rmult_le_pos (1 - eps) _ ltac:(lra) (Rlt_le _ _ zw); lra.
by rewrite {1}/gibbs_law e /share /gibbs_law; field; lra.
Qed.

(* The transform expands total variation by at most sup g / max(mu(g), nu(g)), here for the larger mean.
   Part of: gibbs.variation. *)
Theorem transform_variation p q a top : law p -> law q -> (forall i, exp (a i) <= top) ->
  TV (gibbs_law p a) (gibbs_law q a) <= top / Rmax (gibbs_sum p a) (gibbs_sum q a) * TV p q.
Proof.
have one p' q' : law p' -> law q' -> (forall i, exp (a i) <= top) -> gibbs_sum q' a <= gibbs_sum p' a ->
    TV (gibbs_law p' a) (gibbs_law q' a) <= top / gibbs_sum p' a * TV p' q'.
  move=> hp hq ht le; have zp := gibbs_sum_gt0 a hp; have zq := gibbs_sum_gt0 a hq.
  rewrite (TV_excess (gibbs_law_law a hp) (gibbs_law_law a hq)) (TV_excess hp hq) -sumZ; apply: sum_le => i.
  have e := exp_pos (a i); have i0 : 0 < / gibbs_sum p' a by apply: Rinv_0_lt_compat.
  have ex := excess_ge0 p' q' i.
  have r : 0 <= top / gibbs_sum p' a * excess p' q' i.
    by apply: Rmult_le_pos => //; apply: Rmult_le_pos; [have := ht i; lra | lra].
  rewrite {1}/excess; apply: Rmax_lub => //.
  apply: (Rle_trans _ (exp (a i) / gibbs_sum p' a * (p' i - q' i))).
    have : q' i * exp (a i) * / gibbs_sum p' a <= q' i * exp (a i) * / gibbs_sum q' a.
      apply: Rmult_le_compat_l; first by apply: Rmult_le_pos; [apply: (proj1 hq) | lra].
      exact: Rinv_le_contravar.
    by rewrite /gibbs_law /Rdiv; lra.
  apply: (Rle_trans _ (exp (a i) / gibbs_sum p' a * excess p' q' i)).
    by apply: Rmult_le_compat_l; [apply: Rmult_le_pos; lra | apply: Rmax_l].
  by apply: Rmult_le_compat_r => //; apply: Rmult_le_compat_r; [lra | apply: ht].
move=> hp hq ht; rewrite /Rmax; case: Rle_dec => h; last by apply: one => //; lra.
by rewrite TV_sym (TV_sym p); apply: one.
Qed.

(* Dot products are Gaussian weights, with the masses exp(|k|^2 / 2 tau).
   Claim: variant.kernel-regression. *)
Theorem gaussian_weights (K : finType) (query : K -> R) (key : I -> K -> R) tau : 0 < tau -> inhabited I ->
  let far i := dot (fun k => query k - key i k) (fun k => query k - key i k) in
  (forall i, softmax (fun j => dot query (key j) / tau) i =
    softmax (fun j => dot (key j) (key j) / (2 * tau) + - far j / (2 * tau)) i) /\
  (forall c, (forall i, dot (key i) (key i) = c) ->
    forall i, softmax (fun j => dot query (key j) / tau) i = softmax (fun j => - far j / (2 * tau)) i).
Proof.
move=> ht point far.
have e j : dot (key j) (key j) / (2 * tau) + - far j / (2 * tau) =
    dot query (key j) / tau + - (dot query query / (2 * tau)).
  by rewrite /far dotBl !dotBr (dotC (key j) query); field; lra.
have first i : softmax (fun j => dot query (key j) / tau) i =
    softmax (fun j => dot (key j) (key j) / (2 * tau) + - far j / (2 * tau)) i.
  rewrite -(softmax_shift point _ (- (dot query query / (2 * tau)))) /softmax /normaliser -e; congr (_ / _).
  by apply: sum_ext => j; rewrite e.
split=> // c hc i; rewrite first -[RHS](softmax_shift point _ (c / (2 * tau))) /softmax /normaliser hc.
by congr (exp _ / _); [ring | apply: sum_ext => j; rewrite hc; congr exp; ring].
Qed.

(* Symmetric scores: attention is reversible, for the masses times the normalisers; cycles weigh alike both ways.
   Part of: layers.reversible. *)
Theorem reversible w (f : I -> I -> R) eps : law w -> (forall i j, f i j = f j i) -> 0 < eps ->
  let a i j := - f i j / (2 * eps) in let P i := gibbs_law w (a i) in let pi i := w i * gibbs_sum w (a i) in
  (forall i j, pi i * P i j = pi j * P j i) /\ (forall j, \sum_i (pi i * P i j) = pi j) /\
  (forall i j k, P i j * P j k * P k i = P i k * P k j * P j i).
Proof.
move=> hw hf he a P pi; have z i := gibbs_sum_gt0 (a i) hw.
have sym i j : a i j = a j i by rewrite /a hf.
have flow i j : pi i * P i j = w i * w j * exp (a i j).
  by rewrite /pi /P /gibbs_law; field; have := z i; lra.
split; [|split] => [i j|j|i j k].
- by rewrite !flow sym; ring.
- have -> : \sum_i (pi i * P i j) = \sum_i (pi j * P j i) by apply: sum_ext => i; rewrite !flow sym; ring.
  by rewrite sumZ (proj2 (gibbs_law_law (a j) hw)); ring.
rewrite /P /gibbs_law (sym k i) (sym k j) (sym j i).
by field; have := z i; have := z j; have := z k; lra.
Qed.

(* The range of values shrinks by the largest distance of two rows, said for every pair of rows; attained by the
   indicator of where one exceeds.
   Claim: variant.contraction. *)
Theorem range_contracts p q x l u : law p -> law q -> (forall i, l <= x i <= u) ->
  mean p x - mean q x <= TV p q * (u - l) /\
  (let above := fun i => if Rlt_dec (q i) (p i) then 1 else 0 in mean p above - mean q above = TV p q).
Proof.
move=> hp hq hx; rewrite (TV_excess hp hq); split; last first.
  rewrite /= /mean -sumB; apply: sum_ext => i; rewrite /excess.
  by case: Rlt_dec => h /=; [rewrite Rmax_left | rewrite Rmax_right]; lra.
have -> : mean p x - mean q x = \sum_i ((p i - q i) * (x i - l)).
  have -> : \sum_i ((p i - q i) * (x i - l)) = (mean p x - mean q x) - l * (\sum_i p i - \sum_i q i).
    by rewrite /mean -!sumB -sumZ -sumB; apply: sum_ext => i; ring.
  by rewrite (proj2 hp) (proj2 hq); ring.
rewrite -sumZr; apply: sum_le => i; case: (hx i) => lo hi; rewrite /excess /Rmax; case: Rle_dec => h.
  have : (p i - q i) * (x i - l) <= 0 * (x i - l) by apply: Rmult_le_compat_r; lra.
  by lra.
by apply: Rmult_le_compat_l; lra.
Qed.
(* Laws on the same atoms, at most D apart: W_1 is at most D times the total variation. *)
Lemma W1_le_TV p q (C : I -> I -> R) D z : law p -> law q -> (forall i, C i i = 0) -> (forall i j, C i j <= D) ->
  W1 C p q z -> z <= D * TV p q.
Proof.
move=> hp hq C0 CD [lower _]; have tv0 : 0 <= TV p q.
  by rewrite TV_excess //; apply: sum_ge0 => i; apply: excess_ge0.
case: tv0 => [h|h]; first by apply: Rle_trans (lower _ (maximal_coupling hp hq h)) (maximal_cost hp hq h C0 CD).
have none : forall i, Rabs (p i - q i) = 0.
  by apply: sum_eq0 => [i|]; [apply: Rabs_pos | rewrite /TV in h; lra].
have e i : p i = q i.
  by case: (Req_dec (p i - q i) 0) => [|n]; [lra | have := Rabs_no_R0 _ n; rewrite none].
have stay : coupling p q (fun i j => if j == i then p i else 0).
  split; [|split] => [i j|i|j].
  - by case: eqP => _; [apply: (proj1 hp) | lra].
  - by rewrite -big_mkcond big_pred1_eq.
  by rewrite -e -big_mkcond (big_pred1 j) // => i; rewrite eq_sym.
rewrite -h Rmult_0_r; apply: Rle_trans (lower _ stay) _; right; rewrite /cost big1 // => i _; rewrite big1 // => j _.
by case: eqP => [->|_]; rewrite ?C0; ring.
Qed.

(* Potentials that are off by at most delta: transforms are at most D tanh(delta / 2) apart.
   Part of: gibbs.logits. *)
Theorem logits w (a b : I -> R) (C : I -> I -> R) D delta z : law w -> (forall i, 0 < w i) ->
  (forall i, C i i = 0) -> (forall i j, C i j <= D) -> (forall i, Rabs (a i - b i) <= delta) ->
  W1 C (gibbs_law w a) (gibbs_law w b) z -> z <= D * tanh (delta / 2).
Proof.
move=> hw w0 C0 CD hab hz; have point := law_inhabited hw.
have D0 : 0 <= D by case: point => i; rewrite -(C0 i).
apply: Rle_trans (W1_le_TV (gibbs_law_law a hw) (gibbs_law_law b hw) C0 CD hz) _; apply: Rmult_le_compat_l => //.
have -> : TV (gibbs_law w a) (gibbs_law w b) =
    TV (softmax (fun i => a i + ln (w i))) (softmax (fun i => b i + ln (w i))).
  by rewrite /TV; congr (_ / _); apply: sum_ext => i; rewrite !masses_as_scores.
have -> : delta / 2 = (2 * delta) / 4 by field.
apply: softmax_TV => // i j; have := Rle_abs (a i - b i); have := Rle_abs (- (a j - b j)); rewrite Rabs_Ropp.
by have := hab i; have := hab j; lra.
Qed.

(* Two queries: scores whose difference oscillates by o give laws of keys at most D tanh(o / 4) apart.
   Part of: gibbs.query. *)
Theorem queries w (a b : I -> R) (C : I -> I -> R) D o z : law w -> (forall i, 0 < w i) ->
  (forall i, C i i = 0) -> (forall i j, C i j <= D) -> (forall i j, a i - b i - (a j - b j) <= o) ->
  W1 C (gibbs_law w a) (gibbs_law w b) z -> z <= D * tanh (o / 4).
Proof.
move=> hw w0 C0 CD hab hz; have point := law_inhabited hw.
have D0 : 0 <= D by case: point => i; rewrite -(C0 i).
apply: Rle_trans (W1_le_TV (gibbs_law_law a hw) (gibbs_law_law b hw) C0 CD hz) _; apply: Rmult_le_compat_l => //.
have -> : TV (gibbs_law w a) (gibbs_law w b) =
    TV (softmax (fun i => a i + ln (w i))) (softmax (fun i => b i + ln (w i))).
  by rewrite /TV; congr (_ / _); apply: sum_ext => i; rewrite !masses_as_scores.
by apply: softmax_TV => // i j; have := hab i j; lra.
Qed.
End Kernel.

(* Rows of attention are laws, whatever the mass of the reference; kernels act on measures and compose in that order.
   Part of: markov.rows. *)
Theorem rows (I J K : finType) (m : I -> R) (w : J -> R) (w' : K -> R) (a : I -> J -> R) (b : J -> K -> R) :
  (forall j, 0 <= w j) -> 0 < \sum_j w j ->
  let S i := gibbs_law w (a i) in let S' j := gibbs_law w' (b j) in let after (n : I -> R) j := \sum_i (n i * S i j) in
  (forall i, law (S i)) /\
  (forall f, \sum_j (after m j * f j) = \sum_i (m i * mean (S i) f)) /\
  forall k, \sum_i (m i * \sum_j (S i j * S' j k)) = \sum_j (after m j * S' j k).
Proof.
move=> w0 total S S' after.
have act f : \sum_j (after m j * f j) = \sum_i (m i * mean (S i) f).
  have -> : \sum_j (after m j * f j) = \sum_j \sum_i (m i * (S i j * f j)).
    by apply: sum_ext => j; rewrite /after -sumZr; apply: sum_ext => i; ring.
  by rewrite sum_exchange; apply: sum_ext => i; rewrite sumZ.
split; last split=> // k; last by rewrite act.
move=> i; have t0 j : 0 <= w j * exp (a i j) by apply: Rmult_le_pos => //; left; apply: exp_pos.
have z : 0 < gibbs_sum w (a i).
  case: (Rle_lt_or_eq_dec 0 _ (sum_ge0 t0)) => // none; have zero : \sum_j w j = 0; last by lra.
  rewrite big1 // => j _; case: (Rmult_integral _ _ (sum_eq0 t0 (esym none) j)) => // e.
  by have := exp_pos (a i j); lra.
split=> [j|]; first by apply: Rmult_le_pos; [exact: t0 | left; apply: Rinv_0_lt_compat].
by rewrite /S /gibbs_law /Rdiv sumZr -[\sum_j _]/(gibbs_sum w (a i)); field; lra.
Qed.


(* Twins: total variation does expand, so that no constant one serves; a law of mass 1/10 at the key of score ln 4.
   Twin of: transform_variation. *)
Theorem not_non_expansive : ~ forall (I : finType) (p q a : I -> R), law p -> law q ->
  TV (gibbs_law p a) (gibbs_law q a) <= TV p q.
Proof.
move=> h; have := h [finType of bool] (fun b => if b then 1 / 10 else 9 / 10) (fun b => if b then 0 else 1)
  (fun b => if b then ln 4 else 0).
rewrite /TV /gibbs_law /gibbs_sum /mean !big_bool /= exp_ln ?exp_0; last by lra.
move=> k; have : (Rabs (1 / 10 * 4 / (1 / 10 * 4 + 9 / 10 * 1) - 0 * 4 / (0 * 4 + 1 * 1)) +
   Rabs (9 / 10 * 1 / (1 / 10 * 4 + 9 / 10 * 1) - 1 * 1 / (0 * 4 + 1 * 1))) / 2 <=
  (Rabs (1 / 10 - 0) + Rabs (9 / 10 - 1)) / 2.
  by apply: k; split=> [b|]; rewrite ?big_bool /=; try case: b; lra.
have -> : 1 / 10 * 4 / (1 / 10 * 4 + 9 / 10 * 1) - 0 * 4 / (0 * 4 + 1 * 1) = 4 / 13 by field.
have -> : 9 / 10 * 1 / (1 / 10 * 4 + 9 / 10 * 1) - 1 * 1 / (0 * 4 + 1 * 1) = - (4 / 13) by field.
have -> : 9 / 10 - 1 = - (1 / 10) by field.
by rewrite !Rabs_Ropp !Rabs_pos_eq; lra.
Qed.

(* For the masses alone it is not reversible: two tokens of equal masses and
   scores zero but one of ln 4 from a token to itself.
   Twin of: reversible. *)
Theorem not_reversible_masses : ~ forall (I : finType) (w : I -> R) (a : I -> I -> R), law w ->
  (forall i j, a i j = a j i) -> forall i j, w i * gibbs_law w (a i) j = w j * gibbs_law w (a j) i.
Proof.
move=> h; have := h [finType of bool] (fun=> / 2) (fun b c => if b && c then ln 4 else 0).
move=> k; have : / 2 * gibbs_law (fun=> / 2) (fun c : bool => if true && c then ln 4 else 0) false =
  / 2 * gibbs_law (fun=> / 2) (fun c : bool => if false && c then ln 4 else 0) true.
  by apply: k => [|b c]; [split=> [b|]; rewrite ?big_bool /=; lra | rewrite andbC].
by rewrite /gibbs_law /gibbs_sum /mean !big_bool /= exp_ln ?exp_0; lra.
Qed.

(* A coefficient two per cent smaller: rows (1, 0) and (1/2, 1/2).
   Twin of: range_contracts. *)
Theorem not_range_near : ~ forall (I : finType) (p q x : I -> R) l u, law p -> law q -> (forall i, l <= x i <= u) ->
  mean p x - mean q x <= 98 / 100 * TV p q * (u - l).
Proof.
move=> h; have := h [finType of bool] (fun b => if b then 1 else 0) (fun=> / 2) (fun b => if b then 1 else 0) 0 1.
rewrite /TV /mean !big_bool /= => k.
have : 1 * 1 + 0 * 0 - (/ 2 * 1 + / 2 * 0) <= 98 / 100 * ((Rabs (1 - / 2) + Rabs (0 - / 2)) / 2) * (1 - 0).
  by apply: k => [||b]; [split=> [b|] | split=> [b|] | ]; rewrite ?big_bool /=; try case: b; lra.
by rewrite Rminus_0_l Rabs_Ropp !Rabs_pos_eq; lra.
Qed.

(* Twin: outliers keep the share of their mass; two atoms, and scores 0 and ln 3.
   Twin of: contamination. *)
Theorem not_share_kept : ~ forall (I : finType) (w q a : I -> R) eps, law w -> law q -> 0 <= eps <= 1 ->
  forall i, gibbs_law (fun j => (1 - eps) * w j + eps * q j) a i = (1 - eps) * gibbs_law w a i + eps * gibbs_law q a i.
Proof.
move=> h; have := h [finType of bool] (fun b => if b then 1 else 0) (fun b => if b then 0 else 1)
  (fun b => if b then 0 else ln 3) (/ 2).
move=> k; have {k} := k ltac:(by split=> [[]|]; rewrite ?big_bool /=; lra) ltac:(by split=> [[]|]; rewrite ?big_bool /=;
  lra) ltac:(lra) true.
by rewrite /gibbs_law /gibbs_sum /mean !big_bool /= exp_0 exp_ln; lra.
Qed.

(* Twin: keys of two norms; keys 0 and 2 on the line and the query 0.
   Twin of: gaussian_weights. *)
Theorem not_gaussian_of_any_norm : ~ forall (I K : finType) (query : K -> R) (key : I -> K -> R) tau i, 0 < tau ->
  softmax (fun j => dot query (key j) / tau) i =
  softmax (fun j => - dot (fun k => query k - key j k) (fun k => query k - key j k) / (2 * tau)) i.
Proof.
have s1 (f : unit -> R) : \sum_k f k = f tt by rewrite (big_pred1 tt) //; case.
move=> h; have := h [finType of bool] [finType of unit] (fun=> 0) (fun b _ => if b then 0 else 2) 1 true ltac:(lra).
rewrite /softmax /normaliser !big_bool /dot !s1 /=.
have -> : 0 * 0 / 1 = 0 by field.
have -> : 0 * 2 / 1 = 0 by field.
have -> : - ((0 - 0) * (0 - 0)) / (2 * 1) = 0 by field.
have -> : - ((0 - 2) * (0 - 2)) / (2 * 1) = - 2 by field.
rewrite exp_0; have e : exp (- 2) < 1 by rewrite -exp_0; apply: exp_increasing; lra.
have p := exp_pos (- 2) => k; have : 1 / (1 + 1) * (1 + exp (- 2)) = 1 by rewrite k; field; lra.
by lra.
Qed.

(* Twin: masses that do not enter the scores; 1/4 and 3/4.
   Twin of: masses_as_scores, padding. *)
Theorem not_masses_ignored : ~ forall (I : finType) (w s : I -> R) i, law w -> gibbs_law w s i = softmax s i.
Proof.
have hw : law (fun b : bool => if b then 1 / 4 else 3 / 4) by split=> [[]|]; rewrite ?big_bool /=; lra.
move=> h; have := h [finType of bool] _ (fun=> 0) true hw.
by rewrite /gibbs_law /gibbs_sum /softmax /normaliser /mean !big_bool /= exp_0; lra.
Qed.

(* Scores 1/2, -1/2 and the other way round: the laws are further apart than tanh(1/4). *)
Lemma swapped_far : let w := fun _ : bool => / 2 in let a := fun b : bool => if b then / 2 else - / 2 in
  let C := fun b c : bool => if b == c then 0 else 1 in
  law w /\ exists z, W1 C (gibbs_law w a) (gibbs_law w (fun i => - a i)) z /\ tanh (1 / 4) < z.
Proof.
move=> w a C; have half : law w by split=> [b|]; rewrite ?big_bool /w /=; lra.
pose b d := - a d; have hp := gibbs_law_law a half; have hq := gibbs_law_law b half; split=> //.
case: (W1_exists (C := C) hp hq) => [i j|z hz]; first by rewrite /C; case: eqP; lra.
exists z; split=> //; have low : dual (gibbs_law w a) (gibbs_law w b) a b <= z.
  apply: (proj2 hz) => g hg; apply: weak_duality hg _ => i j.
  by rewrite /C /b /a; case: i; case: j => /=; lra.
move: low; rewrite /dual /mean !big_bool /gibbs_law /gibbs_sum /mean !big_bool /w /b /a /tanh /sinh /cosh /= => low.
have : (exp (1 / 4) - exp (- (1 / 4))) / 2 / ((exp (1 / 4) + exp (- (1 / 4))) / 2) <
    / 2 * exp (/ 2) / (/ 2 * exp (/ 2) + / 2 * exp (- / 2)) * / 2 + / 2 * exp (- / 2) / (/ 2 * exp (/ 2) +
    / 2 * exp (- / 2)) * - / 2 + (/ 2 * exp (- / 2) / (/ 2 * exp (- / 2) + / 2 * exp (- - / 2)) * - / 2 +
    / 2 * exp (- - / 2) / (/ 2 * exp (- / 2) + / 2 * exp (- - / 2)) * - - / 2) by interval with (i_prec 40).
by lra.
Qed.

(* Twin: half of the argument where logits are moved; [swapped_far].
   Twin of: logits. *)
Theorem not_logits_quarter : ~ forall (I : finType) (w a b : I -> R) (C : I -> I -> R) D delta z, law w ->
  (forall i, 0 < w i) -> (forall i, C i i = 0) -> (forall i j, C i j <= D) -> (forall i, Rabs (a i - b i) <= delta) ->
  W1 C (gibbs_law w a) (gibbs_law w b) z -> z <= D * tanh (delta / 4).
Proof.
have [half [z [hz far]]] := swapped_far.
pose a (b : bool) := if b then / 2 else - / 2; pose C (b c : bool) := if b == c then 0 else 1.
move=> h; have := h bool_finType _ a (fun i => - a i) C 1 1 z half (fun _ => ltac:(lra)).
move=> /(_ (fun i => ltac:(by rewrite /C eqxx))) /(_ (fun i j => ltac:(rewrite /C; case: eqP; lra))).
by move=> /(_ (fun i => ltac:(rewrite /a; case: i; [rewrite Rabs_pos_eq | rewrite Rabs_left1]; lra))) /(_ hz); lra.
Qed.

(* Twin: and where queries are; [swapped_far].
   Twin of: queries. *)
Theorem not_queries_eighth : ~ forall (I : finType) (w a b : I -> R) (C : I -> I -> R) D o z, law w ->
  (forall i, 0 < w i) -> (forall i, C i i = 0) -> (forall i j, C i j <= D) ->
  (forall i j, a i - b i - (a j - b j) <= o) -> W1 C (gibbs_law w a) (gibbs_law w b) z -> z <= D * tanh (o / 8).
Proof.
have [half [z [hz far]]] := swapped_far.
pose a (b : bool) := if b then / 2 else - / 2; pose C (b c : bool) := if b == c then 0 else 1.
move=> h; have := h bool_finType _ a (fun i => - a i) C 1 2 z half (fun _ => ltac:(lra)).
move=> /(_ (fun i => ltac:(by rewrite /C eqxx))) /(_ (fun i j => ltac:(rewrite /C; case: eqP; lra))).
move=> /(_ (fun i j => ltac:(rewrite /a; case: i; case: j; lra))) /(_ hz).
by have -> : 2 / 8 = 1 / 4 by [field]; lra.
Qed.

(* Twin: rows that are not divided by their sums; one key, of score ln 2.
   Twin of: rows. *)
Theorem not_rows_undivided : ~ forall (J : finType) (w a : J -> R), law w -> law (fun j => w j * exp (a j)).
Proof.
have s1 (f : unit -> R) : \sum_k f k = f tt by rewrite (big_pred1 tt) //; case.
have one : law (fun _ : unit => 1) by split=> [i|]; rewrite ?s1; lra.
by move=> h; have [_] := h _ _ (fun=> ln 2) one; rewrite s1 exp_ln; lra.
Qed.
