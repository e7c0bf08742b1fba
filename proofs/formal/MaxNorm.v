(* Attention in the largest displacement: no token moves further than 1 + 2a times it, whatever the number of tokens,
   their masses and the mask.

   Reader's checklist: as in [SharpW1], radius one and V = I; a query i is one of the tokens, whose mass may be 0, and w
   is the law of what it sees, so that a causal mask is a law for each query; the displacement of tokens without mass
   does not count, but that of the query does. The witness of slope 2a + 1 / (8a) is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Tilt Transport SharpW1 DetourLeast SharpW2 IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

(* Part of: lipschitz.max-norm. *)
Theorem max_norm (K I : finType) (B : K -> K -> R) (w : I -> R) a eta (x y : I -> K -> R) i : law w -> 0 <= a ->
  (forall u, norm (T B u) <= a * norm u) -> (forall j, norm (x j) <= 1) -> (forall j, norm (y j) <= 1) ->
  (forall j, w j = 0 \/ norm (minus (y j) (x j)) <= eta) -> norm (minus (y i) (x i)) <= eta ->
  norm (minus (output B w y (y i)) (output B w x (x i))) <= (1 + 2 * a) * eta.
Proof.
move=> hw a0 hB bx hy near query; set d := minus (output B w y (y i)) _.
have eta0 : 0 <= eta := Rle_trans _ _ _ (norm_ge0 _) query.
apply: norm_le; first by apply: Rmult_le_pos; lra.
pose u (_ : I) := d; pose h j := minus (y j) (x j); pose z r j : K -> R := fun k => x j k + r * h j k.
pose phi r := mean (seen B w (z r) (z r i)) (fun j => dot d (z r j)).
have der r : is_derive phi r (speed B w (z r) h u i) := token_derivative B x y hw u r i.
have ends : dot d d = phi 1 - phi 0.
  have z0 : z 0 = x by apply: functional_extensionality => j; apply: functional_extensionality => k; rewrite /z; ring.
  have z1 : z 1 = y by apply: functional_extensionality => j; apply: functional_extensionality => k;
    rewrite /z /h /minus; ring.
  by rewrite /phi z0 z1 {2}/d /minus dotBr /output !dot_centre.
case: (MVT_gen phi 0 1 (fun r => speed B w (z r) h u i)) => [r _|r _|r [hr e]]; first exact: der.
  by apply: derivable_continuous_pt; exists (speed B w (z r) h u i); apply/is_derive_Reals; exact: der.
rewrite Rmin_left in hr; last by lra.
rewrite Rmax_right in hr; last by lra.
have bz j : norm (z r j) <= 1 := z_ball bx hy j hr.
set p := seen B w (z r) (z r i); have hp : law p by apply: tilt_law.
have q := query_le a0 hB bz d (h i) hp; have d0 := norm_ge0 d.
set f := fun j => dot d (z r j) in q *; set b := T B (z r i).
have nb : norm b <= a by apply: Rle_trans (hB _) _; have := bz i; have := norm_ge0 (z r i); nra.
have keys : mean p (fun j => dot d (h j) + form B (z r i) (h j) * (f j - mean p f)) <= (1 + a) * eta * norm d.
  have spread : mean p (fun j => Rabs (f j - mean p f)) <= norm d.
    apply: Rsqr_incr_0_var => //; rewrite /Rsqr norm_sq; apply: Rle_trans (variance_one bz d hp).
    have := variance_ge0 (fun j => Rabs (f j - mean p f)) hp; rewrite variance_raw //.
    have -> : mean p (fun j => Rabs (f j - mean p f) ^ 2) = variance p f by apply: mean_ext => j; rewrite pow2_abs.
    by rewrite -/f; lra.
  apply: (Rle_trans _ (mean p (fun j => eta * norm d + a * eta * Rabs (f j - mean p f)))).
    apply: sum_le => j; case: (near j) => [w0|close].
      by have -> : p j = 0 by [rewrite /p /seen /tilt w0; ring]; lra.
    apply: Rmult_le_compat_l; first exact: (proj1 hp).
    apply: Rplus_le_compat.
      by apply: Rle_trans (cauchy_schwarz _ _) _; rewrite Rmult_comm; apply: Rmult_le_compat_r.
    apply: Rle_trans (Rle_abs _) _; rewrite Rabs_mult; apply: Rmult_le_compat_r; first exact: Rabs_pos.
    by apply: Rle_trans (abs_dot _ _) _; apply: Rmult_le_compat => //; apply: norm_ge0.
  rewrite meanD (mean_const (eta * norm d) hp) meanZ.
  by have := Rmult_le_compat_l (a * eta) _ _ (Rmult_le_pos _ _ a0 eta0) spread; lra.
have whole : speed B w (z r) h u i = mean p (fun j => form B (h i) (z r j) * (f j - mean p f)) +
    mean p (fun j => dot d (h j) + form B (z r i) (h j) * (f j - mean p f)).
  have -> : speed B w (z r) h u i = mean p (fun j => dot d (h j)) +
    mean p (fun j => (form B (h i) (z r j) + form B (z r i) (h j)) * (f j - mean p f)) by [].
  by rewrite -!meanD; apply: mean_ext => j; ring.
have first : a * norm (h i) * norm d <= a * eta * norm d.
  by apply: Rmult_le_compat_r => //; apply: Rmult_le_compat_l.
have both := Rplus_le_compat _ _ _ _ q keys.
by rewrite ends e whole Rminus_0_r Rmult_1_r; apply: Rle_trans both _; lra.
Qed.

(* W_infinity: the coupling that moves no mass further than eta moves the outputs no further than (1 + 2a) eta.
   Part of: lipschitz.max-norm. *)
Theorem max_norm_coupling (K I J : finType) (B : K -> K -> R) a eta (p : I -> R) (q : J -> R) (x : I -> K -> R)
  (y : J -> K -> R) g : 0 <= a -> (forall u, norm (T B u) <= a * norm u) -> law p -> law q ->
  (forall i, norm (x i) <= 1) -> (forall j, norm (y j) <= 1) -> coupling p q g ->
  (forall i j, g i j = 0 \/ norm (minus (y j) (x i)) <= eta) ->
  forall i j, g i j = 0 \/ norm (minus (output B q y (y j)) (output B p x (x i))) <= (1 + 2 * a) * eta.
Proof.
move=> a0 hB hp hq hx hy hg near i j; case: (near i j) => [|close]; [by left | right].
have := max_norm (x := fun ij : I * J => x ij.1) (y := fun ij : I * J => y ij.2) (i := (i, j)) (pairs_law hg hp) a0 hB
  (fun ij => hx ij.1) (fun ij => hy ij.2) (fun ij => near ij.1 ij.2) close.
have -> : output B (fun ij : I * J => g ij.1 ij.2) (fun ij => x ij.1) (x i) = output B p x (x i).
  by apply: output_pairs => f; apply: mean_first hg f.
have -> // : output B (fun ij : I * J => g ij.1 ij.2) (fun ij => y ij.2) (y j) = output B q y (y j).
by apply: output_pairs => f; apply: mean_second hg f.
Qed.

(* Twin: 1 + a does not serve; a = 4, a query at 1 whose mass is so small, exp(-8) of the other's, that it finds keys at
   1 and -1 equally likely, both moved by 1/10 to the inside. *)
Theorem not_single_slope : ~ forall (K I : finType) (B : K -> K -> R) (w : I -> R) a eta (x y : I -> K -> R) i, law w ->
  0 <= a -> (forall u, norm (T B u) <= a * norm u) -> (forall j, norm (x j) <= 1) -> (forall j, norm (y j) <= 1) ->
  (forall j, norm (minus (y j) (x j)) <= eta) ->
  norm (minus (output B w y (y i)) (output B w x (x i))) <= (1 + a) * eta.
Proof.
pose E := exp (-8); have E0 : 0 < E := exp_pos _.
pose w (i : bool) := if i then E / (1 + E) else 1 / (1 + E).
have hw : law w.
  split=> [b|]; last by rewrite sum_bool /w; field; lra.
  by rewrite /w; case: b; apply: Rmult_le_pos; try lra; left; apply: Rinv_0_lt_compat; lra.
pose place s (i : bool) (_ : unit) := if i then s else - s.
move=> h; have := h [finType of unit] [finType of bool] (fun _ _ => 4) w 4 (/ 10) (place 1) (place (9 / 10)) true hw.
have out s : output (fun _ _ : unit => 4) w (place s) (place s true) tt =
    s * (E * exp (4 * s * s) - exp (- (4 * s * s))) / (E * exp (4 * s * s) + exp (- (4 * s * s))).
  rewrite /output /centre /seen /mean sum_bool /tilt /density /mass /mean sum_bool /form /dot /T !sum_unit /place /w.
  have -> : 4 * s * - s = - (4 * s * s) by ring.
  have p1 := exp_pos (4 * s * s); have p2 := exp_pos (- (4 * s * s)).
  have p3 : 0 < E * exp (4 * s * s) by apply: Rmult_lt_0_compat.
  by field; lra.
rewrite !norm_unit /minus !out => le.
have : Rabs (9 / 10 * (E * exp (4 * (9 / 10) * (9 / 10)) - exp (- (4 * (9 / 10) * (9 / 10)))) /
    (E * exp (4 * (9 / 10) * (9 / 10)) + exp (- (4 * (9 / 10) * (9 / 10)))) -
    1 * (E * exp (4 * 1 * 1) - exp (- (4 * 1 * 1))) / (E * exp (4 * 1 * 1) + exp (- (4 * 1 * 1)))) <= (1 + 4) * / 10.
  apply: le => [|u|b|b|b]; first by lra.
  - by rewrite !norm_unit /T sum_unit Rabs_mult (Rabs_pos_eq 4); lra.
  - by rewrite norm_unit /place; apply: Rabs_le; case: b; lra.
  - by rewrite norm_unit /place; apply: Rabs_le; case: b; lra.
  by rewrite norm_unit /place; apply: Rabs_le; case: b; lra.
rewrite Rabs_minus_sym => k; have := Rle_trans _ _ _ (Rle_abs _) k.
suff : 51 / 100 < 1 * (E * exp (4 * 1 * 1) - exp (- (4 * 1 * 1))) / (E * exp (4 * 1 * 1) + exp (- (4 * 1 * 1))) -
  9 / 10 * (E * exp (4 * (9 / 10) * (9 / 10)) - exp (- (4 * (9 / 10) * (9 / 10)))) /
    (E * exp (4 * (9 / 10) * (9 / 10)) + exp (- (4 * (9 / 10) * (9 / 10)))) by lra.
by rewrite /E; interval with (i_prec 60).
Qed.
