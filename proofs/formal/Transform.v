(* The Boltzmann-Gibbs transform stretches W_1 by at most e^o (1 + D l), for a potential of oscillation o and slope l
   on a space of diameter D.

   Reader's checklist: W_1 of the transforms is meant here as the supremum over functions f of slope one, which for
   finitely many atoms is the least cost by duality: [Duality] has the theorem in that form. gibbs.transform also
   divides by the larger mean of the weights, which is sharper, and has a second constant for any weight; neither is
   here. Of sharpness nothing. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Tilt Transport Displacement IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma exp_slope s t top : s <= top -> t <= top -> exp s - exp t <= exp top * Rabs (s - t).
Proof.
move=> hs ht; have h := exp_ineq1_le (t - s); have e : exp t = exp s * exp (t - s) by rewrite -exp_plus; congr exp;
  ring.
have p := exp_pos s; have le : exp s <= exp top := exp_le hs; have k := Rle_abs (s - t); have k0 := Rabs_pos (s - t).
apply: (Rle_trans _ (exp s * (s - t))); first by rewrite e; nra.
by apply: (Rle_trans _ (exp s * Rabs (s - t))); [apply: Rmult_le_compat_l; lra | apply: Rmult_le_compat_r].
Qed.

(* Part of: gibbs.transform. *)
Theorem transform_W1 (X : Type) (d : X -> X -> R) (pot : X -> R) (f : X -> R) D l o top (I J : finType) (x : I ->
  X) (y : J -> X) p q w :
  (forall s t, 0 <= d s t <= D) -> 0 <= l -> (forall s t, Rabs (pot s - pot t) <= l * d s t) ->
  (forall s, top - o <= pot s <= top) -> (forall s t, Rabs (f s - f t) <= d s t) -> law p -> law q ->
  W1 (fun i j => d (x i) (y j)) p q w ->
  mean (tilt p (fun i => pot (x i))) (fun i => f (x i)) - mean (tilt q (fun j => pot (y j))) (fun j => f (y j))
  <= exp o * (1 + D * l) * w.
Proof.
move=> hd l0 hl ho hf hp hq hw; set c := mean (tilt q _) _.
have hqt := tilt_law hq (fun j => pot (y j)).
have D0 : 0 <= D by case: (law_inhabited hp) => i; have := hd (x i) (x i); lra.
have fc s : Rabs (f s - c) <= D.
  have lo : mean (tilt q (fun j => pot (y j))) (fun j => f s + - D) <= c.
    by apply: mean_le => // j; have := hf s (y j); have := hd s (y j); have := Rle_abs (f s - f (y j)); lra.
  have hi : c <= mean (tilt q (fun j => pot (y j))) (fun j => f s + D).
    apply: mean_le => // j; have := hf s (y j); have := hd s (y j); have := Rle_abs (- (f s - f (y j)));
      rewrite Rabs_Ropp; lra.
  by move: lo hi; rewrite !(mean_const _ hqt) => lo hi; apply: Rabs_le; lra.
pose phi s := exp (pot s) * (f s - c); pose L := exp top * (1 + D * l).
have slope s t : phi s - phi t <= L * d s t.
  have -> : phi s - phi t = exp (pot s) * (f s - f t) + (f t - c) * (exp (pot s) - exp (pot t)) by rewrite /phi; ring.
  have e0 := exp_pos (pot s); have e1 : exp (pot s) <= exp top := exp_le (proj2 (ho s)).
  have t1 : exp (pot s) * (f s - f t) <= exp top * d s t.
    have := Rle_trans _ _ _ (Rle_abs _) (hf s t) => k; apply: (Rle_trans _ (exp (pot s) * d s t));
      first by apply: Rmult_le_compat_l; lra.
    by apply: Rmult_le_compat_r => //; have := hd s t; lra.
  have t2 : (f t - c) * (exp (pot s) - exp (pot t)) <= D * (exp top * (l * d s t)).
    apply: (Rle_trans _ _ _ (Rle_abs _)); rewrite Rabs_mult; apply: Rmult_le_compat; try exact: Rabs_pos;
      first exact: fc.
    apply: (Rle_trans _ (exp top * Rabs (pot s - pot t))); last by apply: Rmult_le_compat_l; [left;
      apply: exp_pos | apply: hl].
    apply: Rabs_le; split; last by apply: exp_slope; [apply: (proj2 (ho s)) | apply: (proj2 (ho t))].
    by have := exp_slope (proj2 (ho t)) (proj2 (ho s)); rewrite Rabs_minus_sym; lra.
  by rewrite /L; lra.
have L0 : 0 < L by apply: Rmult_lt_0_compat; [apply: exp_pos | have := Rmult_le_pos _ _ D0 l0; lra].
have dual_bound : mean p (fun i => phi (x i)) - mean q (fun j => phi (y j)) <= L * w.
  have sc : W1 (fun i j => d (x i) (y j)) p q w -> (mean p (fun i => phi (x i)) - mean q (fun j => phi (y j))) / L <= w.
    case=> _ greatest; apply: greatest => g hg; apply: (Rmult_le_reg_l L) => //.
    have -> : L * ((mean p (fun i => phi (x i)) - mean q (fun j => phi (y j))) / L) =
      dual p q (fun i => phi (x i)) (fun j => -1 * phi (y j)) by rewrite /dual meanZ; field; lra.
    rewrite (dual_as_cost _ _ hg) /cost -sumZ; apply: sum_le => i; rewrite -sumZ; apply: sum_le => j.
    have g0 := proj1 hg i j; have := slope (x i) (y j); nra.
  by have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ L0) (sc hw);
    have -> : L * ((mean p (fun i => phi (x i)) - mean q (fun j => phi (y j))) / L) =
    mean p (fun i => phi (x i)) - mean q (fun j => phi (y j)) by field; lra.
have mq : mean q (fun j => phi (y j)) = 0.
  have m0 := mass_gt0 hq (fun j => pot (y j)).
  have -> : mean q (fun j => phi (y j)) =
    mass q (fun j => pot (y j)) * (c - c * mean (tilt q (fun j => pot (y j))) (fun=> 1)).
    rewrite {1}/c -meanZ /mean -sumB -sumZ; apply: sum_ext => j; rewrite /phi /tilt /density; field; lra.
  by rewrite (mean_const _ hqt); ring.
have mp := mass_gt0 hp (fun i => pot (x i)); set Z := mass p (fun i => pot (x i)) in mp *.
have -> : mean (tilt p (fun i => pot (x i))) (fun i => f (x i)) - c = mean p (fun i => phi (x i)) / Z.
  have hpt := tilt_law hp (fun i => pot (x i)).
  rewrite -[X in _ - X](mean_const c hpt) /mean -sumB /Rdiv -sumZr; apply: sum_ext => i;
    rewrite /phi /tilt /density -/Z; field; lra.
have Zlow : exp (top - o) <= Z.
  by rewrite -[X in X <= _](mean_const _ hp); apply: mean_le => // i; apply: exp_le; case: (ho (x i)).
have w0 : 0 <= w.
  by apply: (proj2 hw) => g hg; apply: sum_ge0 => i; apply: sum_ge0 => j; apply: Rmult_le_pos;
    [apply: (proj1 hg) | case: (hd (x i) (y j))].
apply: (Rmult_le_reg_r Z) => //;
  have -> : mean p (fun i => phi (x i)) / Z * Z = mean p (fun i => phi (x i)) by field; lra.
apply: (Rle_trans _ (L * w)); first by lra.
have -> : L * w = exp o * (1 + D * l) * w * exp (top - o).
  have e : exp top = exp o * exp (top - o) by rewrite -exp_plus; congr exp; ring.
  by rewrite /L e; ring.
apply: Rmult_le_compat_l => //; apply: Rmult_le_pos => //; apply: Rmult_le_pos; first by left; apply: exp_pos.
by have := Rmult_le_pos _ _ D0 l0; lra.
Qed.

(* A light atom that is moved from 1 to 9/10, where the potential is the place. *)
Definition place (s : option bool) := if s is Some b then if b then 1 else 9 / 10 else 0.

Lemma light_atom w : let p := fun b : bool => if b then 9 / 10 else 1 / 10 in
  let d := fun s t => Rabs (place s - place t) in
  let x := fun b : bool => if b then None else Some true in let y := fun b : bool => if b then None else Some false in
  law p /\ (forall s, 0 <= place s <= 1) /\ (W1 (fun i j => d (x i) (y j)) p p w -> exp 1 * w <
    mean (tilt p (fun i => place (x i))) (fun i => place (x i)) -
    mean (tilt p (fun j => place (y j))) (fun j => place (y j))).
Proof.
move=> p d x y; have hp : law p by split=> [[]|]; rewrite ?big_bool /p /=; lra.
split=> //; split=> [[[]|]|hw] /=; try lra.
have le : w <= 1 / 100.
  apply: Rle_trans (proj1 hw _ (stay_coupling hp)) _; rewrite /cost !big_bool /= /d /place /p /=.
  by rewrite Rminus_0_r Rabs_R0 (Rabs_pos_eq (1 - 9 / 10)); lra.
apply: (Rle_lt_trans _ (exp 1 * (1 / 100))); first by apply: Rmult_le_compat_l => //; left; apply: exp_pos.
rewrite /mean !big_bool /tilt /density /mass /mean !big_bool /p /x /y /place /=.
by interval with (i_prec 40).
Qed.

(* Twin: the density alone, without the slope of the potential; [light_atom].
   Twin of: transform_W1. *)
Theorem not_transform_without_slope : ~ forall (X : Type) (d : X -> X -> R) (pot : X -> R) (f : X -> R) D l o top
    (I J : finType) (x : I -> X) (y : J -> X) p q w,
  (forall s t, 0 <= d s t <= D) -> 0 <= l -> (forall s t, Rabs (pot s - pot t) <= l * d s t) ->
  (forall s, top - o <= pot s <= top) -> (forall s t, Rabs (f s - f t) <= d s t) -> law p -> law q ->
  W1 (fun i j => d (x i) (y j)) p q w ->
  mean (tilt p (fun i => pot (x i))) (fun i => f (x i)) - mean (tilt q (fun j => pot (y j))) (fun j => f (y j)) <=
  exp o * w.
Proof.
pose d s t := Rabs (place s - place t).
pose x (b : bool) := if b then None else Some true; pose y (b : bool) := if b then None else Some false.
have [hp [in_ _]] := light_atom 0; set p := fun b : bool => _ in hp.
case: (W1_exists (C := fun i j => d (x i) (y j)) hp hp) => [i j|w hw]; first exact: Rabs_pos.
have [_ [_ gap]] := light_atom w.
have g : exp 1 * w < mean (tilt p (fun i => place (x i))) (fun i => place (x i)) -
  mean (tilt p (fun j => place (y j))) (fun j => place (y j)) := gap hw.
move=> h; have := h _ d place place 1 1 1 1 _ _ x y p p w.
move=> /(_ (fun s t => ltac:(split; [exact: Rabs_pos | have := in_ s; have := in_ t; move=> *; apply: Rabs_le; lra]))).
move=> /(_ ltac:(lra)) /(_ (fun s t => ltac:(rewrite Rmult_1_l; exact: Rle_refl))).
move=> /(_ (fun s => ltac:(have := in_ s; lra))) /(_ (fun s t => Rle_refl _)) /(_ hp hp hw).
by lra.
Qed.
