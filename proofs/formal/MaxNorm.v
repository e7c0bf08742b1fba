(* Attention in the largest displacement: no token moves further than 1 + 2a times it, whatever the number of tokens,
   their masses and the mask.

   Reader's checklist: as in [SharpW1] and [Scaling]; a query i is one of the tokens, whose mass may be 0, and w
   is the law of what it sees, so that a causal mask is a law for each query, in [max_norm_causal] that of the tokens up
   to it ([cut] of [Masks]); the displacement of tokens without mass
   does not count, but that of the query does. The witness of slope 2a + 1 / (8a) is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Tilt Transport Diameter Masks SharpW1 Scaling DetourLeast
  SharpW2 IntervalStd.
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

(* For every radius and value matrix, any law for what the query sees.
   Part of: lipschitz.max-norm. *)
Theorem max_norm_scaled (K L I : finType) (B : K -> K -> R) (V : L -> K -> R) b v r (w : I -> R) eta
  (x y : I -> K -> R) i :
  let a := b * r ^ 2 in
  0 < r -> 0 <= b -> 0 <= v -> law w ->
  (forall u, norm (T B u) <= b * norm u) -> (forall u, norm (apply_matrix V u) <= v * norm u) ->
  (forall j, norm (x j) <= r) -> (forall j, norm (y j) <= r) ->
  (forall j, w j = 0 \/ norm (minus (y j) (x j)) <= eta) -> norm (minus (y i) (x i)) <= eta ->
  norm (minus (apply_matrix V (output B w y (y i))) (apply_matrix V (output B w x (x i)))) <= v * (1 + 2 * a) * eta.
Proof.
move=> a r0 b0 v0 hw hB hV hx hy near query; have a0 : 0 <= a := Rmult_le_pos _ _ b0 (pow2_ge_0 r).
have i0 : 0 <= / r by left; apply: Rinv_0_lt_compat.
have shrink (u : K -> R) c : norm u <= r * c -> norm (fun k => / r * u k) <= c.
  move=> le; rewrite norm_scale //; have := Rmult_le_compat_l _ _ _ i0 le.
  by have -> : / r * (r * c) = c by field; lra.
pose small (z : I -> K -> R) j k := / r * z j k.
have ball (z : I -> K -> R) : (forall j, norm (z j) <= r) -> forall j, norm (small z j) <= 1.
  by move=> hz j; apply: shrink; rewrite Rmult_1_r.
have moved j c : norm (minus (y j) (x j)) <= c -> norm (minus (small y j) (small x j)) <= / r * c.
  move=> le; have -> : minus (small y j) (small x j) = fun k => / r * minus (y j) (x j) k.
    by apply: functional_extensionality => k; rewrite /minus /small; ring.
  by apply: shrink; have -> : r * (/ r * c) = c by field; lra.
have main := max_norm (i := i) hw a0 (fun u => norm_scaled r u hB) (ball _ hx) (ball _ hy)
  (fun j => match near j with or_introl e => or_introl e | or_intror e => or_intror (moved j _ e) end)
  (moved i _ query).
set d := minus _ _ in main.
have -> : minus (apply_matrix V (output B w y (y i))) (apply_matrix V (output B w x (x i))) =
    apply_matrix V (fun k => r * d k).
  apply: functional_extensionality => l; rewrite /minus /apply_matrix -sumB; apply: sum_ext => k.
  by rewrite (output_scaled B w x i r0) (output_scaled B w y i r0) /d /minus /small; ring.
apply: Rle_trans (hV _) _; rewrite norm_scale; last by left.
have := Rmult_le_compat_l (v * r) _ _ (Rmult_le_pos _ _ v0 (Rlt_le _ _ r0)) main.
by have -> : v * r * ((1 + 2 * a) * (/ r * eta)) = v * (1 + 2 * a) * eta by [field; lra]; lra.
Qed.

(* And in W_infinity.
   Part of: lipschitz.max-norm. *)
Theorem max_norm_coupling_scaled (K L I J : finType) (B : K -> K -> R) (V : L -> K -> R) b v r eta (p : I -> R)
  (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) g : let a := b * r ^ 2 in
  0 < r -> 0 <= b -> 0 <= v ->
  (forall u, norm (T B u) <= b * norm u) -> (forall u, norm (apply_matrix V u) <= v * norm u) -> law p -> law q ->
  (forall i, norm (x i) <= r) -> (forall j, norm (y j) <= r) -> coupling p q g ->
  (forall i j, g i j = 0 \/ norm (minus (y j) (x i)) <= eta) ->
  forall i j, g i j = 0 \/
    norm (minus (apply_matrix V (output B q y (y j))) (apply_matrix V (output B p x (x i)))) <= v * (1 + 2 * a) * eta.
Proof.
move=> a r0 b0 v0 hB hV hp hq hx hy hg near i j; case: (near i j) => [|close]; [by left | right].
have := max_norm_scaled (x := fun ij : I * J => x ij.1) (y := fun ij : I * J => y ij.2) (i := (i, j)) r0 b0 v0
  (pairs_law hg hp) hB hV (fun ij => hx ij.1) (fun ij => hy ij.2) (fun ij => near ij.1 ij.2) close.
have -> : output B (fun ij : I * J => g ij.1 ij.2) (fun ij => x ij.1) (x i) = output B p x (x i).
  by apply: output_pairs => f; apply: mean_first hg f.
have -> // : output B (fun ij : I * J => g ij.1 ij.2) (fun ij => y ij.2) (y j) = output B q y (y j).
by apply: output_pairs => f; apply: mean_second hg f.
Qed.

(* What is seen under a mask is what is seen, conditioned. *)
Lemma cut_tilt (I : finType) (A : I -> bool) (w a : I -> R) : law w -> 0 < kept A w ->
  forall i, tilt (cut A w) a i = cut A (tilt w a) i.
Proof.
move=> hw k i; have e0 j := exp_pos (a j).
have m0 := mass_gt0 hw a.
have c0 := mass_gt0 (cut_law (proj1 hw) k) a.
have e : kept A (tilt w a) = kept A w * mass (cut A w) a / mass w a.
  have -> : kept A w * mass (cut A w) a = \sum_j (if A j then w j * exp (a j) else 0).
    by rewrite {1}/mass /mean -sumZ; apply: sum_ext => j; rewrite /cut; case: (A j); [field; lra | ring].
  rewrite /Rdiv -sumZr /kept; apply: sum_ext => j; rewrite /tilt /density /Rdiv; case: (A j); ring.
rewrite {1}/tilt {1}/density; set C := mass (cut A w) a in e c0 *.
by rewrite /cut e /tilt /density; case: (A i); [field; lra | ring].
Qed.

(* A causal mask: every query sees the tokens up to it, with the masses that they have.
   Part of: lipschitz.max-norm.
   No twin: [max_norm_scaled] for the laws that the mask leaves. *)
Theorem max_norm_causal (K L : finType) (n : nat) (B : K -> K -> R) (V : L -> K -> R) b v r (w : 'I_n -> R) eta
  (x y : 'I_n -> K -> R) : let a := b * r ^ 2 in let past (i : 'I_n) := cut (fun j : 'I_n => leq j i) w in
  0 < r -> 0 <= b -> 0 <= v -> law w -> (forall i, 0 < w i) ->
  (forall u, norm (T B u) <= b * norm u) -> (forall u, norm (apply_matrix V u) <= v * norm u) ->
  (forall j, norm (x j) <= r) -> (forall j, norm (y j) <= r) -> (forall j, norm (minus (y j) (x j)) <= eta) ->
  forall i, norm (minus (apply_matrix V (output B (past i) y (y i))) (apply_matrix V (output B (past i) x (x i)))) <=
  v * (1 + 2 * a) * eta.
Proof.
move=> a past r0 b0 v0 hw w0 hB hV hx hy near i; apply: max_norm_scaled => // [|j]; last by right.
by apply: cut_law => [j|]; [left | apply: kept_gt0 => [j|]; [left | exists i; rewrite leqnn]].
Qed.

(* Twin: 1 + a does not serve; a = 4, a query at 1 whose mass is so small, exp(-8) of the other's, that it finds keys at
   1 and -1 equally likely, both moved by 1/10 to the inside.
   Twin of: max_norm, max_norm_coupling, max_norm_scaled, max_norm_coupling_scaled. *)
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
