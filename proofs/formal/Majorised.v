(* Concentration along the order: as the order grows, the weights of any set of largest scores together never lose.

   Reader's checklist: [log_of alpha] is the deformed logarithm, (x^(alpha - 1) - 1) / (alpha - 1), and ln at one;
   [follows alpha s p] says that scores differ as the logarithms of the weights, and by at least that where a weight
   vanishes; softmax follows order one, and entmax every order above one ([softmax_follows], [entmax_follows]), the
   orders below one being left out; a set of largest scores is any A that no score outside exceeds; temperature one. The
   claim also has the derivative in the order. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz Classical.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Entmax.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Definition log_of (alpha x : R) := if Req_EM_T alpha 1 then ln x else (Rpower x (alpha - 1) - 1) / (alpha - 1).

Lemma log_slope alpha x : 0 < x -> is_derive (log_of alpha) x (Rpower x (alpha - 2)).
Proof.
move=> x0; rewrite /log_of; case: (Req_EM_T alpha 1) => [e|ne] /=.
  have -> : Rpower x (alpha - 2) = / x by rewrite (_ : alpha - 2 = - 1) ?Rpower_Ropp ?Rpower_1 //; lra.
  by apply/is_derive_Reals; apply: derivable_pt_lim_ln.
have d : is_derive (fun x => Rpower x (alpha - 1)) x ((alpha - 1) * Rpower x (alpha - 1 - 1)).
  by apply/is_derive_Reals; apply: derivable_pt_lim_power.
have e : alpha - 1 - 1 = alpha - 2 by ring.
rewrite e in d; have k : alpha - 1 <> 0 by lra.
apply: (is_derive_ext (fun x => / (alpha - 1) * (Rpower x (alpha - 1) - 1))) => [t|]; first exact: Rmult_comm.
refine (@eq_ind R _ (is_derive _ x) (is_derive_scal _ x (/ (alpha - 1)) _ (is_derive_minus _ _ x _ _ d
  (is_derive_const 1 x))) _ _).
by rewrite /minus /plus /opp /zero /=; field.
Qed.

(* A function of positive slope grows. *)
Lemma log_mean alpha x y : 0 < x -> x < y -> exists c, x <= c <= y /\
  log_of alpha y - log_of alpha x = Rpower c (alpha - 2) * (y - x).
Proof.
move=> x0 xy; case: (MVT_gen (log_of alpha) x y (fun c => Rpower c (alpha - 2))) => [c hc|c hc|c [hc e]].
- by apply: log_slope; move: hc; rewrite Rmin_left; lra.
- apply: derivable_continuous_pt; exists (Rpower c (alpha - 2)); apply/is_derive_Reals; apply: log_slope.
  by move: hc; rewrite Rmin_left; lra.
by exists c; move: hc; rewrite Rmin_left ?Rmax_right; lra.
Qed.

Lemma log_lt alpha x y : 0 < x -> x < y -> log_of alpha x < log_of alpha y.
Proof.
move=> x0 xy; case: (log_mean alpha x0 xy) => c [_ e].
by have := Rmult_lt_0_compat (Rpower c (alpha - 2)) (y - x) (Rpower_gt0 _ _) ltac:(lra); lra.
Qed.

(* Below one a larger order has the smaller differences. *)
Lemma log_order alpha beta x y : alpha < beta -> 0 < x -> x <= y -> y <= 1 ->
  log_of beta y - log_of beta x <= log_of alpha y - log_of alpha x.
Proof.
move=> ab x0 [xy|->] y1; last by lra.
pose d c := Rpower c (alpha - 2) - Rpower c (beta - 2).
have slope c : 0 < c -> is_derive (fun c => log_of alpha c - log_of beta c) c (d c).
  by move=> c0; apply: is_derive_minus; apply: log_slope.
case: (MVT_gen (fun c => log_of alpha c - log_of beta c) x y d) => [c hc|c hc|c [hc e]].
- by apply: slope; move: hc; rewrite Rmin_left; lra.
- apply: derivable_continuous_pt; exists (d c); apply/is_derive_Reals; apply: slope.
  by move: hc; rewrite Rmin_left; lra.
move: hc; rewrite Rmin_left ?Rmax_right; [|lra|lra] => hc.
have l0 : ln c <= 0 by rewrite -ln_1; case: (Req_dec c 1) => [->|ne]; [lra | left; apply: ln_increasing; lra].
have k : Rpower c (beta - 2) <= Rpower c (alpha - 2).
  have le : (beta - 2) * ln c <= (alpha - 2) * ln c.
    by have := Rmult_le_pos (beta - alpha) (- ln c) ltac:(lra) ltac:(lra); lra.
  by rewrite /Rpower; case: le => [lt|->]; [left; apply: exp_increasing | right].
by have := Rmult_le_pos (d c) (y - x) ltac:(rewrite /d; lra) ltac:(lra); lra.
Qed.

Section Majorised.
Variable I : finType.
Implicit Types (s p q : I -> R) (alpha beta : R) (A : I -> bool).

Definition follows alpha s p := law p /\ forall i j, 0 < p j ->
  (0 < p i -> s j - s i = log_of alpha (p j) - log_of alpha (p i)) /\
  (p i = 0 -> forall x, 0 < x -> log_of alpha (p j) - log_of alpha x <= s j - s i).

Lemma follows_order beta s q i j : follows beta s q -> s i <= s j -> 0 < q i -> q i <= q j.
Proof.
move=> [[q0 _] h] le qi; apply: Rnot_lt_le => lt; case: (q0 j) => [qj|qj].
  by have := proj1 (h i j qj) qi; have := log_lt beta qj lt; lra.
have h2 : 0 < q i / 2 by lra.
have := proj2 (h j i qi) (esym qj) _ h2; have := log_lt beta h2 (ltac:(lra) : q i / 2 < q i); lra.
Qed.

(* Weights that gain lie above those that lose. *)
Lemma one_crossing alpha beta s p q i j : alpha < beta -> follows alpha s p -> follows beta s q -> s i <= s j ->
  p i < q i -> p j <= q j.
Proof.
move=> ab hp hq le gain; apply: Rnot_lt_le => loss.
have qi : 0 < q i by have := proj1 (proj1 hp) i; lra.
have qij := follows_order hq le qi; have pj : 0 < p j by lra.
have q1 : q j <= 1 by rewrite -(proj2 (proj1 hq)); apply: sum_term => k; apply: (proj1 (proj1 hq)).
have e := proj1 (proj2 hq i j ltac:(lra)) qi; have o := log_order ab qi qij q1.
have up := log_lt alpha (ltac:(lra) : 0 < q j) loss.
case: (proj1 (proj1 hp) i) => [pi|pi].
  by have := proj1 (proj2 hp i j pj) pi; have := log_lt alpha pi gain; lra.
by have := proj2 (proj2 hp i j pj) (esym pi) _ qi; lra.
Qed.

(* Part of: entmax.majorised. *)
Theorem majorised alpha beta s p q A : alpha < beta -> follows alpha s p -> follows beta s q ->
  (forall i j, A j -> ~~ A i -> s i <= s j) ->
  \sum_i (if A i then p i else 0) <= \sum_i (if A i then q i else 0).
Proof.
move=> ab hp hq top; case: (classic (exists i, ~~ A i /\ p i < q i)) => [[i [ni gain]]|none].
  apply: sum_le => j; case Aj : (A j); last by lra.
  by apply: (one_crossing ab hp hq (top i j Aj ni) gain).
have split_ (r : I -> R) : law r -> \sum_i (if A i then r i else 0) = 1 - \sum_i (if A i then 0 else r i).
  by case=> _ <-; rewrite -sumB; apply: sum_ext => i; case: (A i); ring.
rewrite (split_ _ (proj1 hp)) (split_ _ (proj1 hq)).
suff : \sum_i (if A i then 0 else q i) <= \sum_i (if A i then 0 else p i) by lra.
apply: sum_le => i; case Ai : (A i); first by lra.
by apply: Rnot_lt_le => gain; case: none; exists i; rewrite Ai.
Qed.

(* Part of: entmax.differences. *)
Theorem softmax_follows s : inhabited I -> follows 1 s (softmax s).
Proof.
move=> point; split; first exact: softmax_law.
move=> i j _; rewrite /log_of; case: (Req_EM_T 1 1) => //= _; split=> [_|z]; first by rewrite !ln_softmax //; ring.
by have := softmax_gt0 point s i; lra.
Qed.

(* Part of: entmax.differences. *)
Theorem entmax_follows alpha s p : 1 < alpha -> entmax alpha s p -> follows alpha s p.
Proof.
move=> h hp; split; first exact: entmax_law hp.
case: hp => nu [e _]; have a1 : alpha - 1 <> 0 by lra.
have root i : 0 < p i -> Rpower (p i) (alpha - 1) = 1 + (alpha - 1) * (s i - nu).
  move=> pi; have pos : 0 < 1 + (alpha - 1) * (s i - nu) by apply/(power_gt0 _ (/ (alpha - 1))); rewrite -e.
  by rewrite e (power_pos _ pos) Rpower_mult Rinv_l // Rpower_1.
move=> i j pj; rewrite /log_of; case: (Req_EM_T alpha 1) => [z|ne] /=; first by lra.
split=> [pi|z x x0]; first by rewrite !root //; field.
have low : 1 + (alpha - 1) * (s i - nu) <= 0.
  by apply: Rnot_lt_le => pos; have := proj2 (power_gt0 _ (/ (alpha - 1))) pos; rewrite -e z; lra.
have g := Rpower_gt0 x (alpha - 1); rewrite root //.
apply: (Rmult_le_reg_l (alpha - 1)); first by lra.
have -> : (alpha - 1) * ((1 + (alpha - 1) * (s j - nu) - 1) / (alpha - 1) - (Rpower x (alpha - 1) - 1) / (alpha - 1)) =
  1 + (alpha - 1) * (s j - nu) - Rpower x (alpha - 1) by field.
by lra.
Qed.
End Majorised.

(* Twin: a single weight below the largest may gain; scores 1, 9/10 and 0 of order one, and two, which is sparsemax.
   Twin of: majorised. *)
Theorem not_each_weight : ~ forall (I : finType) alpha beta (s p q : I -> R) i m, alpha < beta ->
  follows alpha s p -> follows beta s q -> s i < s m -> q i <= p i.
Proof.
have three (f : option bool -> R) : \sum_i f i = f None + f (Some true) + f (Some false).
  rewrite (bigD1 None) //= (bigD1 (Some true)) //= (bigD1 (Some false)) //= big1; first by ring.
  by case=> [[]|].
pose s (i : option bool) := match i with None => 1 | Some true => 9 / 10 | _ => 0 end.
pose q (i : option bool) := match i with None => 55 / 100 | Some true => 45 / 100 | _ => 0 end.
have point : inhabited [finType of option bool] by constructor; exact: None.
have two : 1 < 2 by lra.
have hq : entmax 2 s q.
  exists (145 / 100); split=> [i|]; last by rewrite three /q /=; lra.
  have -> : 2 - 1 = 1 by ring.
  rewrite Rinv_1 /s /q; case: i => [[]|].
  - by rewrite power_pos ?Rpower_1; lra.
  - by rewrite power_neg; lra.
  by rewrite power_pos ?Rpower_1; lra.
move=> h; have := h _ 1 2 s _ q (Some true) None two (softmax_follows s point) (entmax_follows two hq).
rewrite /s /= => /(_ ltac:(lra)); rewrite /softmax /normaliser three /= exp_0.
have a := exp_pos (9 / 10); have b : exp (9 / 10) <= exp 1 by left; apply: exp_increasing; lra.
move=> k; have c : 0 < exp 1 + exp (9 / 10) + 1 by lra.
have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ c) k.
have -> : exp (9 / 10) / (exp 1 + exp (9 / 10) + 1) * (exp 1 + exp (9 / 10) + 1) = exp (9 / 10) by field; lra.
have up : exp 1 = exp (9 / 10) * exp (1 / 10) by rewrite -exp_plus; congr exp; field.
have tenth : 11 / 10 <= exp (1 / 10) by have := exp_ineq1_le (1 / 10); lra.
have three_ : exp (9 / 10) <= 3 by apply: Rle_trans b (exp_le_3).
by rewrite up; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ a) tenth; lra.
Qed.

(* Twin: softmax of another order than one; order two, a lead of ln 2.
   Twin of: softmax_follows. *)
Theorem not_softmax_of_any_order : ~ forall (I : finType) alpha (s : I -> R), inhabited I ->
  follows alpha s (softmax s).
Proof.
move=> h; pose s (b : bool) := if b then ln 2 else 0.
have [_ e] := h _ 2 s (inhabits true); have p0 := softmax_gt0 (inhabits true) s.
have [+ _] := e false true (p0 true); move=> /(_ (p0 false)).
rewrite /log_of; case: (Req_EM_T 2 1) => [|_] /=; first by lra.
have -> : 2 - 1 = 1 by ring.
rewrite !Rpower_1 ?p0 // /softmax /normaliser !big_bool /s exp_0 exp_ln; last by lra.
have := ln_le_minus_1 (ltac:(lra) : 0 < / 2); rewrite ln_Rinv /=; lra.
Qed.

(* Twin: entmax of the order of softmax; order two and a sure winner, to which softmax gives less than one.
   Twin of: entmax_follows. *)
Theorem not_entmax_as_softmax : ~ forall (I : finType) alpha (s p : I -> R), 1 < alpha -> entmax alpha s p ->
  follows 1 s p.
Proof.
move=> h; have [_ e] := h _ _ _ _ (ltac:(lra) : 1 < 2) entmax_two_sure.
have [_ +] := e false true Rlt_0_1; move=> /(_ erefl _ (exp_pos (-2))).
by rewrite /log_of; case: (Req_EM_T 1 1) => //= _; rewrite ln_1 ln_exp; lra.
Qed.
