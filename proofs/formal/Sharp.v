(* A limit behind [Least]: two atoms on the line, masses 1 - eps at 1 and eps at -1, B = -a, the light atom displaced
   by h.

   As h -> 0 and then eps -> 0 the means of the outputs move by e^(2a) (1 + 2a) times eps h. The output at a query x is
   1 - (2 - h) theta with theta the weight of the light atom. Reader's checklist: none; [Least] is what is cited. *)
Set Warnings "-ambiguous-paths".
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Section Witness.
Variables a eps : R.
Hypothesis he : 0 < eps < 1.

(* Places 1 and -1 + h, score -a x y; weights of the atoms seen from x and the output there. *)
Definition heavy (x : R) := (1 - eps) * exp (- a * x).
Definition light (x h : R) := eps * exp (- a * x * (-1 + h)).
Definition out (x h : R) := (heavy x + light x h * (-1 + h)) / (heavy x + light x h).

(* The mean of the law of the outputs. *)
Definition total (h : R) := (1 - eps) * out 1 h + eps * out (-1 + h) h.

Definition theta := eps * exp (2 * a) / (1 - eps + eps * exp (2 * a)).
Definition theta' := eps / ((1 - eps) * exp (2 * a) + eps).

Lemma total_slope : is_derive total 0
  ((1 - eps) * (theta * (1 + 2 * a * (1 - theta))) + eps * (theta' * (1 - 6 * a * (1 - theta')))).
Proof.
  assert (p := exp_pos a); assert (e1 : exp (- a) = / exp a) by apply exp_Ropp.
  assert (e2 : exp (2 * a) = exp a * exp a) by (rewrite <- exp_plus; f_equal; ring).
  unfold total, out, heavy, light, theta, theta'; auto_derive.
  - repeat split; apply Rgt_not_eq; apply Rplus_lt_0_compat; apply Rmult_lt_0_compat; try apply exp_pos; lra.
  - replace (exp (- a * 1 * (-1 + 0))) with (exp a) by (f_equal; ring).
    replace (exp (- a * 1)) with (/ exp a) by (rewrite <- e1; f_equal; ring).
    replace (exp (- a * (-1 + 0) * (-1 + 0))) with (/ exp a) by (rewrite <- e1; f_equal; ring).
    replace (exp (- a * (-1 + 0))) with (exp a) by (f_equal; ring).
    rewrite e2; set (X := exp a) in *; assert (0 < eps * X * X) by (repeat apply Rmult_lt_0_compat; lra).
    assert (0 < (1 - eps) * X * X) by (repeat apply Rmult_lt_0_compat; lra).
    field; repeat split; nra.
Qed.
End Witness.

(* For every c below e^(2a) (1 + 2a) there are a mass and a displacement that refute c. *)
Lemma no_less (a c : R) : 0 <= a -> c < exp (2 * a) * (1 + 2 * a) ->
  exists eps h, 0 < eps < 1 /\ 0 < h < 1 /\ c * (eps * h) < total a eps h - total a eps 0.
Proof.
  intros ha hc.
  set (G := fun eps => (1 - eps) * (exp (2 * a) / (1 - eps + eps * exp (2 * a)) * (1 + 2 * a * (1 - theta a eps)))
    + theta' a eps * (1 - 6 * a * (1 - theta' a eps))).
  assert (pE := exp_pos (2 * a)).
  assert (cont : continuous G 0).
  { apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule) G 0); unfold G, theta, theta'; auto_derive;
    repeat split; lra. }
  assert (G0 : G 0 = exp (2 * a) * (1 + 2 * a)) by (unfold G, theta, theta'; field; lra).
  assert (near : locally 0 (fun eps => c < G eps)).
  { apply (cont (fun y => c < y)); refine (open_gt c (G 0) _); rewrite G0; exact hc. }
  destruct near as [d hd].
  set (eps := Rmin d 1 / 2); assert (d0 := cond_pos d).
  assert (he : 0 < eps < 1) by (unfold eps, Rmin; destruct (Rle_dec d 1); lra).
  assert (hG : c < G eps).
  { apply hd; change (Rabs (eps - 0) < d); rewrite Rminus_0_r, Rabs_pos_eq by lra.
    unfold eps, Rmin; destruct (Rle_dec d 1); lra. }
  assert (slope := total_slope a eps he).
  replace ((1 - eps) * (theta a eps * (1 + 2 * a * (1 - theta a eps))) +
    eps * (theta' a eps * (1 - 6 * a * (1 - theta' a eps))))
    with (eps * G eps) in slope.
  2: { assert (0 < eps * exp (2 * a)) by (apply Rmult_lt_0_compat; lra); unfold G, theta; field; lra. }
  apply is_derive_Reals in slope.
  destruct (slope (eps * (G eps - c))) as [r hr]; [apply Rmult_lt_0_compat; lra|].
  set (h := Rmin r 1 / 2); assert (r0 := cond_pos r).
  assert (hh : 0 < h < 1 /\ h < r) by (unfold h, Rmin; destruct (Rle_dec r 1); lra).
  exists eps, h; repeat split; try lra.
  assert (k : Rabs ((total a eps (0 + h) - total a eps 0) / h - eps * G eps) < eps * (G eps - c)).
  { apply hr; [lra | rewrite Rabs_pos_eq; lra]. }
  rewrite Rplus_0_l in k; apply Rabs_def2 in k; destruct k as [_ k].
  assert (k' : eps * c < (total a eps h - total a eps 0) / h) by lra.
  apply (Rmult_lt_compat_r h) in k'; [|lra].
  replace ((total a eps h - total a eps 0) / h * h) with (total a eps h - total a eps 0) in k' by (field; lra); lra.
Qed.
