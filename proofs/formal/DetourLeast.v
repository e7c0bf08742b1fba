(* No constant of W_1 is below e^e (1 + e) for the form B, where e = <x, B (y - x)> is any of its detours in the ball,
   hence for the largest: almost all mass lies at the query x, a light atom at the place that x prefers, and that atom
   is moved towards the origin.

   Reader's checklist: as in [SharpW1]; r is the radius of the ball, V = I; the two laws have two atoms each, or one. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Tilt Transport Displacement SharpW1 Scaling.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma sum_unit (f : unit -> R) : \sum_k f k = f tt.
Proof. by rewrite (big_pred1 tt) //; case. Qed.

Lemma sum_bool (f : bool -> R) : \sum_b f b = f true + f false.
Proof. by rewrite big_bool. Qed.

Lemma norm_unit (u : unit -> R) : norm u = Rabs (u tt).
Proof. by rewrite /norm /dot sum_unit; exact: sqrt_Rsqr_abs. Qed.

(* A sum of one term, and the norm on an axis. *)
Lemma sum_axis (K : finType) (o : K) (f : K -> R) : (forall k, k != o -> f k = 0) -> \sum_k f k = f o.
Proof. by move=> h; rewrite (bigD1 o) //= big1; [ring | move=> k ne; apply: h]. Qed.

Lemma norm_axis (K : finType) (o : K) (u : K -> R) : (forall k, k != o -> u k = 0) -> norm u = Rabs (u o).
Proof.
by move=> h; rewrite /norm /dot (sum_axis (o := o)); [exact: sqrt_Rsqr_abs | move=> k /h ->; ring].
Qed.

Lemma axis_le (K : finType) (o : K) (u : K -> R) : Rabs (u o) <= norm u.
Proof.
rewrite -(sqrt_Rsqr_abs (u o)); apply: sqrt_le_1_alt; apply: (sum_term (f := fun k => u k * u k)) => k.
exact: Rle_0_sqr.
Qed.

(* Masses of a heavy atom and a light one. *)
Definition masses eps (b : bool) := if b then 1 - eps else eps.

Lemma masses_law eps : 0 < eps < 1 -> law (masses eps).
Proof. by move=> h; split=> [[]|]; rewrite ?big_bool /=; lra. Qed.

(* What the light atom adds to a mean where its score leads by t and its value by g. *)
Definition share eps g t := eps * g * exp t / (1 - eps + eps * exp t).

Lemma mean_two eps (s f : bool -> R) : 0 < eps < 1 ->
  mean (tilt (masses eps) s) f = f true + share eps (f false - f true) (s false - s true).
Proof.
move=> h; rewrite /mean sum_bool /tilt /density /mass /mean sum_bool /masses /share /Rminus exp_plus exp_Ropp.
have p := exp_pos (s true); have q := exp_pos (s false).
have p1 := Rmult_lt_0_compat (1 - eps) _ ltac:(lra) p; have q1 := Rmult_lt_0_compat eps _ ltac:(lra) q.
by field; repeat split; lra.
Qed.

(* The mean of the projected outputs, less xi, where the heavy atom lies; the light one lies at 1 - s. The heavy one
   sees scores of slope ka, the light one of ga (to itself) and be (to the other). *)
Section Line.
Variables ka xi be ga : R.
Definition total eps s := (1 - eps) * share eps (1 - s - xi) (ka * (1 - s - xi)) +
  eps * share eps (1 - s - xi) ((1 - s) ^ 2 * ga - (1 - s) * be).

(* Its slope at 0 over - eps. *)
Definition stretch eps := let X := exp (ka * (1 - xi)) in let Y := exp (ga - be) in
  (1 - eps) * (X * (1 - eps + eps * X + ka * (1 - xi) * (1 - eps)) / (1 - eps + eps * X) ^ 2) +
  eps * (Y * (1 - eps + eps * Y + (1 - xi) * (2 * ga - be) * (1 - eps)) / (1 - eps + eps * Y) ^ 2).

Lemma total_slope eps : 0 < eps < 1 -> is_derive (total eps) 0 (- (eps * stretch eps)).
Proof.
move=> he; have X0 := exp_pos (ka * (1 - xi)); have Y0 := exp_pos (ga - be).
have eX := Rmult_lt_0_compat _ _ (proj1 he) X0; have eY := Rmult_lt_0_compat _ _ (proj1 he) Y0.
have e1 : ka * (1 - 0 - xi) = ka * (1 - xi) by ring.
have e2 : (1 - 0) ^ 2 * ga - (1 - 0) * be = ga - be by ring.
rewrite /total /share /stretch; auto_derive.
  rewrite /= in e2 *; have -> : (1 + - 0 + - xi) = 1 - 0 - xi by ring.
  have -> : (1 + - 0) * ((1 + - 0) * 1) * ga + - ((1 + - 0) * be) = ga - be by ring.
  by rewrite e1; repeat split; lra.
have -> : ka * (1 + - 0 + - xi) = ka * (1 - xi) by ring.
have -> : (1 + - 0) * ((1 + - 0) * 1) * ga + - ((1 + - 0) * be) = ga - be by ring.
set X := exp (ka * (1 - xi)) in X0 eX *; set Y := exp (ga - be) in Y0 eY *.
by field; lra.
Qed.

Lemma total_falls c : c < exp (ka * (1 - xi)) * (1 + ka * (1 - xi)) ->
  exists eps s, 0 < eps < 1 /\ 0 < s < 1 /\ c * (eps * s) < total eps 0 - total eps s.
Proof.
move=> hc; have cont : continuous stretch 0.
  apply: (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule) stretch 0); rewrite /stretch; auto_derive.
  by repeat split; lra.
have G0 : stretch 0 = exp (ka * (1 - xi)) * (1 + ka * (1 - xi)) by rewrite /stretch; field; lra.
have near : locally 0 (fun eps => c < stretch eps).
  by apply: (cont (fun y => c < y)); refine (open_gt c (stretch 0) _); rewrite G0.
case: near => d hd; have d0 := cond_pos d; pose eps := Rmin d 1 / 2.
have he : 0 < eps < 1 by rewrite /eps /Rmin; case: Rle_dec; lra.
have hG : c < stretch eps.
  apply: hd; change (Rabs (eps - 0) < d); rewrite Rminus_0_r Rabs_pos_eq; last by lra.
  by rewrite /eps /Rmin; case: Rle_dec; lra.
have := total_slope he; move/is_derive_Reals => slope.
have room : 0 < eps * (stretch eps - c) by apply: Rmult_lt_0_compat; lra.
case: (slope _ room) => r hr; have r0 := cond_pos r; pose s := Rmin r 1 / 2.
have hs : 0 < s < 1 /\ s < r by rewrite /s /Rmin; case: Rle_dec; lra.
exists eps, s; split=> //; split; first by case: hs.
have := hr s ltac:(lra) ltac:(rewrite Rabs_pos_eq; lra); rewrite Rplus_0_l => k.
have k2 := Rabs_def2 _ _ k; have k3 : (total eps s - total eps 0) / s < - (eps * c) by lra.
have := Rmult_lt_compat_r s _ _ (proj1 (proj1 hs)) k3.
have -> : (total eps s - total eps 0) / s * s = total eps s - total eps 0 by field; lra.
lra.
Qed.
End Line.

(* Two laws whose atoms move by t on average and whose mean output moves by more than c t. *)
Lemma refuted (K I : finType) (B : K -> K -> R) (w : I -> R) (x y : I -> K -> R) r c t : law w ->
  (forall i, norm (x i) <= r) -> (forall i, norm (y i) <= r) -> mean w (fun i => norm (minus (x i) (y i))) <= t ->
  Rmax c 0 * t < norm (fun k => mean w (fun i => output B w x (x i) k) - mean w (fun i => output B w y (y i) k)) ->
  exists (I J : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    law p /\ law q /\ (forall i, norm (x i) <= r) /\ (forall j, norm (y j) <= r) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after /\ c * before < after.
Proof.
move=> hw hx hy ht gap.
case: (W1_exists (C := fun i j => norm (minus (x i) (y j))) hw hw) => [i j|before hb]; first exact: norm_ge0.
case: (W1_exists (C := fun i j => norm (minus (output B w x (x i)) (output B w y (y j)))) hw hw) => [i j|after ha].
  exact: norm_ge0.
exists I, I, w, w, x, y, before, after; do 6! split=> //.
have [lo hi] := displacement hw hb; have far := barycentres ha.
have b0 : 0 <= before by apply: Rle_trans (norm_ge0 _) lo.
have m0 := Rmax_r c 0; have m1 := Rmax_l c 0.
apply: (Rle_lt_trans _ (Rmax c 0 * t)); last by apply: Rlt_le_trans far.
apply: (Rle_trans _ (Rmax c 0 * before)); first exact: Rmult_le_compat_r.
by apply: Rmult_le_compat_l => //; apply: Rle_trans hi ht.
Qed.

(* The light atom at the end y of the ball that x prefers. *)
Section Place.
Variables (K : finType) (B : K -> K -> R) (x y : K -> R) (r ka : R).
Hypothesis r0 : 0 < r.
Hypothesis hx : norm x <= r.
Hypothesis yy : dot y y = r ^ 2.
Hypothesis hb : forall v, form B x v = ka * (dot y v / r ^ 2).

Let xi := dot y x / r ^ 2.
Definition places s (b : bool) : K -> R := if b then x else fun k => (1 - s) * y k.

Lemma norm_end : norm y = r.
Proof. by rewrite /norm yy sqrt_pow2; lra. Qed.

Lemma places_ball s b : 0 <= s < 1 -> norm (places s b) <= r.
Proof.
by move=> hs; case: b => //=; rewrite norm_scale ?norm_end; [have := Rmult_le_pos s r; lra | lra].
Qed.

Lemma form_scale c u v : form B (fun k => c * u k) v = c * form B u v.
Proof.
by rewrite /form -dotZl; apply: dot_ext => // l; rewrite /T -sumZ; apply: sum_ext => k; ring.
Qed.

Lemma dot_scale c u v : dot u (fun k => c * v k) = c * dot u (v : K -> R).
Proof. by rewrite dotC dotZl dotC. Qed.

Lemma total_places eps s : 0 < eps < 1 -> 0 <= s < 1 ->
  mean (masses eps) (fun b => dot y (output B (masses eps) (places s) (places s b))) =
  r ^ 2 * (xi + total ka xi (form B y x) (form B y y) eps s).
Proof.
move=> he hs; have rr : r ^ 2 <> 0 by have := pow_lt r 2 r0; lra.
have out v : dot y (output B (masses eps) (places s) v) = r ^ 2 * (xi + share eps (1 - s - xi)
    ((1 - s) * form B v y - form B v x)).
  rewrite /output dot_centre /seen mean_two // /places dot_scale yy.
  have -> : form B v (fun k => (1 - s) * y k) = (1 - s) * form B v y by rewrite /form dot_scale.
  rewrite /share /xi; set X := exp _; have X0 : 0 < X := exp_pos _; have eX := Rmult_lt_0_compat _ _ (proj1 he) X0.
  by move: rr; set q := r ^ 2 => rr; field; split; lra.
rewrite /mean sum_bool !out /masses /= !form_scale !hb yy -/xi /total.
have -> : (1 - s) * (ka * (r ^ 2 / r ^ 2)) - ka * xi = ka * (1 - s - xi) by field; lra.
have -> : (1 - s) * ((1 - s) * form B y y) - (1 - s) * form B y x = (1 - s) ^ 2 * form B y y - (1 - s) * form B y x.
  by ring.
by ring.
Qed.
End Place.

Lemma norm_0 (K : finType) : norm (fun _ : K => 0) = 0.
Proof. by rewrite /norm /dot (sum_ext (g := fun=> 0)) ?sum0 ?sqrt_0 // => k; ring. Qed.

(* A query prefers the end of the ball along its image, where its detour is longest; or it has none. *)
Lemma prefers (K : finType) (B : K -> K -> R) r e (x y : K -> R) : inhabited K -> 0 < r -> norm x <= r ->
  norm y <= r -> form B x (minus y x) = e -> 0 <= e ->
  (exists y' ka, dot y' y' = r ^ 2 /\ (forall v, form B x v = ka * (dot y' v / r ^ 2)) /\
    e <= ka * (1 - dot y' x / r ^ 2)) \/ e = 0 /\ exists v : K -> R, norm v = r.
Proof.
move=> [o] r0 hx hy ee e0; pose b := T B x; pose be := norm b; have be0 : 0 <= be := norm_ge0 b.
have split_e : e = dot b y - dot b x by rewrite -ee /form dotBr.
case: be0 => [be0|z].
  left; exists (fun k => r / be * b k), (r * be).
  have hb v : form B x v = r * be * (dot (fun k => r / be * b k) v / r ^ 2).
    by rewrite /form -/b dotZl; field; lra.
  split; first by rewrite dotZl dot_scale -norm_sq -/be; field; lra.
  split=> //; have -> : r * be * (1 - dot (fun k => r / be * b k) x / r ^ 2) = be * r - dot b x.
    by rewrite dotZl; field; lra.
  have := cauchy_schwarz b y; rewrite -/be => cs; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ be0) hy; lra.
right; split.
  have := cauchy_schwarz b (minus y x); rewrite -/be -z Rmult_0_l; move: ee; rewrite /form -/b; lra.
exists (fun k => if k == o then r else 0).
by rewrite (norm_axis (o := o)) ?eqxx ?Rabs_pos_eq //; [lra | move=> k /negbTE ->].
Qed.

(* One atom is where its output is. *)
Lemma output_one (K : finType) (B : K -> K -> R) (v u : K -> R) : output B (fun _ : unit => 1) (fun=> v) u = v.
Proof.
have one : law (fun _ : unit => 1) by split=> [_|]; [lra | rewrite sum_unit].
by apply: functional_extensionality => k; rewrite /output /centre (mean_const _ (tilt_law one _)).
Qed.

(* The theorem. In dimension zero all laws are one.
   Part of: lipschitz.single-form. *)
Theorem attention_W1_detour_least (K : finType) (B : K -> K -> R) r e (x y : K -> R) c : inhabited K -> 0 < r ->
  norm x <= r -> norm y <= r -> form B x (minus y x) = e -> 0 <= e -> c < exp e * (1 + e) ->
  exists (I J : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    law p /\ law q /\ (forall i, norm (x i) <= r) /\ (forall j, norm (y j) <= r) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after /\ c * before < after.
Proof.
move=> point r0 hx hy ee e0 hc; have rr := pow_lt r 2 r0.
case: (prefers point r0 hx hy ee e0) => [[y' [ka [yy [hb best]]]]|[z0 [y' ny]]].
  set xi := dot y' x / r ^ 2 in hb best.
  have hc' : Rmax c 0 < exp (ka * (1 - xi)) * (1 + ka * (1 - xi)).
    apply: (Rlt_le_trans _ (exp e * (1 + e))).
      by apply: Rmax_lub_lt => //; apply: Rmult_lt_0_compat; [apply: exp_pos | lra].
    by apply: Rmult_le_compat; [left; apply: exp_pos | lra | apply: exp_le | lra].
  case: (total_falls (form B y' x) (form B y' y') hc') => eps [s [he [hs gap]]].
  have lw := masses_law he; have ny := norm_end r0 yy.
  apply: (refuted (w := masses eps) (x := places x y' 0) (y := places x y' s) (t := eps * s * r)) => //.
  - by move=> d; apply: places_ball => //; lra.
  - by move=> d; apply: places_ball => //; lra.
  - rewrite /mean sum_bool /masses /=.
    have -> : norm (minus x x) = 0.
      by rewrite /norm /dot (sum_ext (g := fun=> 0)) ?sum0 ?sqrt_0 // => k; rewrite /minus; ring.
    have -> : norm (minus (fun k => (1 - 0) * y' k) (fun k => (1 - s) * y' k)) = s * r.
      by rewrite -ny -norm_scale; [apply: norm_ext => k; rewrite /minus; ring | lra].
    by lra.
  set D := fun k => _; apply: (Rmult_lt_reg_l r) => //.
  apply: (Rlt_le_trans _ (dot y' D)); last by have := cauchy_schwarz y' D; rewrite ny.
  have -> : dot y' D = r ^ 2 * (total ka xi (form B y' x) (form B y' y') eps 0 -
      total ka xi (form B y' x) (form B y' y') eps s).
    have m (z : bool -> K -> R) : dot y' (fun k => mean (masses eps) (fun b => z b k)) =
      mean (masses eps) (fun b => dot y' (z b)) by rewrite dotC dot_mean; apply: mean_ext => d; rewrite dotC.
    by rewrite /D dotBr !m !(total_places r0 yy hb) //; [rewrite -/xi; ring | lra | lra].
  by have := Rmult_lt_compat_l _ _ _ rr gap; lra.
(* A query without preferences. *)
have one : law (fun _ : unit => 1) by split=> [_|]; [lra | rewrite sum_unit].
have apart : norm (minus (fun=> 0) y') = r.
  rewrite -[RHS]ny /norm; congr sqrt; apply: sum_ext => k; rewrite /minus; ring.
apply: (refuted (w := fun _ : unit => 1) (x := fun _ _ => 0) (y := fun=> y') (t := r)) => //.
- by move=> _; rewrite norm_0; lra.
- by move=> _; lra.
- by rewrite (mean_const _ one) apart; lra.
rewrite (norm_ext (v := minus (fun=> 0) y')) => [|k]; last by rewrite !output_one !(mean_const _ one).
rewrite apart; have : Rmax c 0 < 1 by apply: Rmax_lub_lt; move: hc; rewrite ?z0 ?exp_0; lra.
by move=> k; have := Rmult_lt_compat_r r _ _ r0 k; lra.
Qed.
