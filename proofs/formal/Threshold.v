(* The threshold of entmax of order above one exists, between that of a sure winner and that of equal scores.

   Reader's checklist: [entmax alpha s p] of [Entmax] says that p has the form with some nu and sums to one; temperature
   one; n is [INR #|I|]; orders up to one are not meant, which the claim has. The lower end is met by a sure winner, for
   which see [Entmax.entmax_margin]. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Sparsemax Entmax.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma power_continuous a : 0 < a -> continuity (fun x => power x a).
Proof.
move=> a0 x; case: (Rtotal_order x 0) => [n|[->|p]].
- apply: (continuity_pt_ext_loc (fun=> 0)); last by apply: continuity_pt_const.
  exists (mkposreal (- x) ltac:(lra)) => y hy; rewrite power_neg //.
  by move/Rabs_def2: hy => /= [h _]; rewrite /minus /plus /opp /= in h; lra.
- move=> eps e0; exists (Rpower eps (/ a)); split; first exact: Rpower_gt0.
  move=> y [_]; rewrite /dist /= /R_dist (power_neg (x := 0)); last by lra.
  rewrite !Rminus_0_r => hy; rewrite Rabs_pos_eq; last exact: power_ge0.
  case: (Rlt_dec 0 y) => [y0|y0]; last by rewrite power_neg; lra.
  rewrite power_pos //; rewrite Rabs_pos_eq in hy; last by lra.
  have -> : eps = Rpower (Rpower eps (/ a)) a by rewrite Rpower_mult Rinv_l ?Rpower_1 //; lra.
  by apply: Rlt_Rpower_l.
apply: (continuity_pt_ext_loc (fun y => Rpower y a)).
  exists (mkposreal x p) => y hy; rewrite power_pos //.
  by move/Rabs_def2: hy => /= [_ h]; rewrite /minus /plus /opp /= in h; lra.
by apply: derivable_continuous_pt; exists (a * Rpower x (a - 1)); apply: derivable_pt_lim_power.
Qed.

Section Threshold.
Variable I : finType.
Implicit Types (s p : I -> R) (alpha nu : R).

Definition shape alpha s nu i := power (1 + (alpha - 1) * (s i - nu)) (/ (alpha - 1)).

(* A threshold, between the largest score and 1 / (alpha - 1) above it. *)
Theorem entmax_exists alpha s : 1 < alpha -> inhabited I -> exists p, entmax alpha s p.
Proof.
move=> h point; have a0 : 0 < / (alpha - 1) by apply: Rinv_0_lt_compat; lra.
have a1 : (alpha - 1) * / (alpha - 1) = 1 by field; lra.
case: (largest s point) => m hm; pose g nu := 1 - \sum_i shape alpha s nu i.
have cont : continuity g.
  apply: continuity_minus; first by apply: continuity_const.
  apply: continuous_sum => i; rewrite /shape => nu.
  apply: (continuity_pt_comp (fun nu => 1 + (alpha - 1) * (s i - nu)) (fun x => power x (/ (alpha - 1)))).
    by reg.
  exact: power_continuous.
case: (IVT_cor g (s m) (s m + / (alpha - 1)) cont) => [||nu [_ e]]; first by lra.
  have lo : g (s m) <= 0.
    have : shape alpha s (s m) m <= \sum_i shape alpha s (s m) i by apply: sum_term => i; apply: power_ge0.
    have -> : shape alpha s (s m) m = 1; last by rewrite /g; lra.
    rewrite /shape (Rminus_diag_eq (s m) (s m)) // Rmult_0_r Rplus_0_r power_pos; last by lra.
    by rewrite /Rpower ln_1 Rmult_0_r exp_0.
  have hi : 0 <= g (s m + / (alpha - 1)).
    rewrite /g big1 => [|i _]; first by lra.
    rewrite /shape power_neg //; have := Rmult_le_compat_l (alpha - 1) _ _ ltac:(lra) (hm i); lra.
  by nra.
by exists (shape alpha s nu); exists nu; split=> //; move: e; rewrite /g; lra.
Qed.

(* Where it lies, and that equal scores have the upper end.
   Part of: entmax.bracket. *)
Theorem entmax_bracket alpha s p nu m : 1 < alpha -> (forall j, s j <= s m) -> (forall i, p i = shape alpha s nu i) ->
  \sum_i p i = 1 ->
  0 <= nu - s m <= (1 - Rpower (INR #|I|) (1 - alpha)) / (alpha - 1) /\
  ((forall j, s j = s m) -> nu - s m = (1 - Rpower (INR #|I|) (1 - alpha)) / (alpha - 1)).
Proof.
move=> h hm e one; have a0 : 0 < / (alpha - 1) by apply: Rinv_0_lt_compat; lra.
have a1 : alpha - 1 <> 0 by lra.
have n0 : 0 < INR #|I| by apply: lt_0_INR; apply/ltP; apply/card_gt0P; exists m.
have count c : \big[Rplus/0]_(i : I) c = INR #|I| * c.
  rewrite big_const; elim: #|I| => [|k ih]; first by rewrite /=; ring.
  by rewrite S_INR iterS ih; ring.
have le i : p i <= p m.
  by rewrite !e; apply: power_le; [lra | have := Rmult_le_compat_l (alpha - 1) _ _ ltac:(lra) (hm i); lra].
have root i : 0 < p i -> 1 + (alpha - 1) * (s i - nu) = Rpower (p i) (alpha - 1).
  move=> pi; have pos : 0 < 1 + (alpha - 1) * (s i - nu).
    by apply/(power_gt0 _ (/ (alpha - 1))); rewrite -/(shape _ _ _ _) -e.
  rewrite e /shape (power_pos _ pos) Rpower_mult Rinv_l // Rpower_1 //.
have inv : Rpower (INR #|I|) (1 - alpha) = Rpower (/ INR #|I|) (alpha - 1).
  by rewrite /Rpower ln_Rinv //; congr exp; ring.
have pm : / INR #|I| <= p m.
  have : \sum_i p i <= \big[Rplus/0]_(i : I) p m by apply: sum_le.
  rewrite one count => k; apply: (Rmult_le_reg_l (INR #|I|)) => //; rewrite Rinv_r; lra.
have i0 := Rinv_0_lt_compat _ n0; have r := root m ltac:(lra).
have p1 : p m <= 1 by rewrite -one; apply: sum_term => i; rewrite e; apply: power_ge0.
have up : Rpower (p m) (alpha - 1) <= 1.
  apply: (Rle_trans _ (Rpower 1 (alpha - 1))); first by apply: Rle_Rpower_l; lra.
  by rewrite /Rpower ln_1 Rmult_0_r exp_0; lra.
have low : Rpower (/ INR #|I|) (alpha - 1) <= Rpower (p m) (alpha - 1) by apply: Rle_Rpower_l; lra.
have form : nu - s m = (1 - Rpower (p m) (alpha - 1)) / (alpha - 1) by rewrite -r; field.
split.
  rewrite form inv; split; first by apply: Rmult_le_pos; lra.
  by apply: Rmult_le_compat_r; lra.
move=> same; rewrite form inv; congr ((1 - Rpower _ _) / _).
have : \sum_i p i = \big[Rplus/0]_(i : I) p m by apply: sum_ext => i; rewrite !e /shape same.
by rewrite one count => k; apply: (Rmult_eq_reg_l (INR #|I|)); [rewrite -k Rinv_r; lra | lra].
Qed.
End Threshold.

(* Twin: the upper end with n to the power - alpha; order two, two equal scores, threshold 1/2.
   Twin of: entmax_bracket. *)
Theorem not_bracket_power : ~ forall (I : finType) alpha (s p : I -> R) nu m, 1 < alpha -> (forall j, s j = s m) ->
  (forall i, p i = shape alpha s nu i) -> \sum_i p i = 1 ->
  nu - s m = (1 - Rpower (INR #|I|) (- alpha)) / (alpha - 1).
Proof.
move=> h; have two : 1 < 2 by lra.
have form (b : bool) : / 2 = shape 2 (fun _ : bool => 0) (/ 2) b.
  rewrite /shape power_pos /Rpower; last by lra.
  have -> : 1 + (2 - 1) * (0 - / 2) = / 2 by field.
  have -> : / (2 - 1) * ln (/ 2) = ln (/ 2) by field.
  by rewrite exp_ln; lra.
have one : \big[Rplus/0]_(b : bool) / 2 = 1 by rewrite big_bool /=; lra.
have := h [finType of bool] 2 (fun=> 0) (fun=> / 2) (/ 2) true two (fun _ => erefl) form one.
rewrite card_bool (_ : INR 2 = 2) /Rpower; last by rewrite /=; ring.
have -> : - (2) * ln 2 = - (ln 2 + ln 2) by ring.
by rewrite exp_Ropp exp_plus exp_ln; lra.
Qed.
