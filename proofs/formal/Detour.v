(* Attention with one form in W_1 and W_2: the constants grow like exponentials of its largest detour e, the largest
   <x, B (y - x)> over the ball, and not of twice its norm: e^e (1 + 2a) + a and e^(e/2) sqrt(1 + a^2) + a.

   Reader's checklist: as in [SharpW1]; [detour B r e] says that no detour in the ball of radius r exceeds e, so that
   the largest is the least such e; [W1] with squared distances is the square of W_2, and there the constant is squared.
   Laws have finitely many atoms. Floors of the constants are in [DetourLeast] and [DetourSquare], values of e in
   [DetourValues]. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Attention Require Import Finite Euclid Tilt Transport SharpW1 Least SharpW2 Scaling.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Definition detour (K : finType) (B : K -> K -> R) r e :=
  forall x y : K -> R, norm x <= r -> norm y <= r -> form B x (minus y x) <= e.

(* The mass that lands at y, per unit there: all queries together give a place in the ball at most e^e times its mass.
   Part of: lipschitz.single-form. *)
Theorem column_detour (K I : finType) (B : K -> K -> R) r e (w : I -> R) (z : I -> K -> R) y : law w ->
  detour B r e -> (forall i, norm (z i) <= r) -> norm y <= r ->
  mean w (fun i => exp (form B (z i) y) / mass w (fun j => form B (z i) (z j))) <= exp e.
Proof.
move=> hw he hz hy; pose Z i := mass w (fun j => form B (z i) (z j)); pose d i := exp (form B (z i) y) / Z i.
have Z0 i : 0 < Z i by apply: mass_gt0.
have d0 i : 0 < d i by apply: Rdiv_lt_0_compat => //; apply: exp_pos.
rewrite -/(mean w d); set c := mean w d.
pose nu := tilt w (fun i => ln (d i)); have hnu : law nu by apply: tilt_law.
have mc : mass w (fun i => ln (d i)) = c by apply: mean_ext => i; rewrite exp_ln.
have c0 : 0 < c by rewrite -mc; apply: mass_gt0.
have nuE i : w i = c * (nu i * exp (- ln (d i))).
  by rewrite /nu /tilt /density mc exp_Ropp exp_ln //; field; have := d0 i; lra.
pose m := centre nu z; pose L := mean nu (fun i => ln (d i)).
have low i : ln c + form B (z i) m - L <= ln (Z i).
  rewrite -(ln_exp (_ - L)); have e0 := exp_pos (ln c + form B (z i) m - L).
  suff : exp (ln c + form B (z i) m - L) <= Z i by case=> [lt|->]; [left; apply: ln_increasing | right].
  have -> : Z i = c * mass nu (fun j => form B (z i) (z j) - ln (d j)).
    rewrite /Z /mass /mean -sumZ; apply: sum_ext => j; rewrite {1}nuE /Rminus exp_plus; ring.
  have -> : ln c + form B (z i) m - L = ln c + (form B (z i) m + -1 * L) by ring.
  rewrite exp_plus exp_ln //; apply: Rmult_le_compat_l; first by left.
  rewrite /form dot_centre /L -meanZ -meanD.
  have -> : mean nu (fun j => dot (T B (z i)) (z j) + -1 * ln (d j)) =
    mean nu (fun j => dot (T B (z i)) (z j) - ln (d j)) by apply: mean_ext => j; ring.
  exact: jensen.
have up : L <= mean nu (fun i => form B (z i) y - form B (z i) m) - ln c + L.
  have -> : mean nu (fun i => form B (z i) y - form B (z i) m) - ln c + L =
      mean nu (fun i => form B (z i) y - form B (z i) m + (L - ln c)).
    by rewrite meanD (mean_const _ hnu); ring.
  apply: mean_le => // i; rewrite /d /Rdiv ln_mult ?ln_exp ?ln_Rinv //; [|exact: exp_pos|exact: Rinv_0_lt_compat].
  by have := low i; lra.
have mid : mean nu (fun i => form B (z i) y - form B (z i) m) = form B m (minus y m).
  have e1 l : T B m l = mean nu (fun i => T B (z i) l).
    rewrite /T /m /centre /mean; have -> : \sum_k (B k l * (\sum_i (nu i * z i k))) =
      \sum_k \sum_i (nu i * (B k l * z i k)) by apply: sum_ext => k; rewrite -sumZ; apply: sum_ext => i; ring.
    by rewrite sum_exchange; apply: sum_ext => i; rewrite sumZ.
  by rewrite /form (dot_ext e1 (fun _ => erefl)) dot_mean; apply: mean_ext => i; rewrite dotBr.
have hm : norm m <= r.
  have r0 : 0 <= r by apply: Rle_trans (norm_ge0 y) hy.
  apply: norm_le => //; rewrite {2}/m dot_centre -[X in _ <= X](mean_const _ hnu); apply: mean_le => // j.
  apply: (Rle_trans _ _ _ (cauchy_schwarz _ _)); rewrite Rmult_comm.
  by apply: Rmult_le_compat_r; [apply: norm_ge0 | apply: hz].
have := he m y hm hy; rewrite -mid => k.
by rewrite -(exp_ln c c0); apply: exp_le; lra.
Qed.

Section Bound.
Variables (K : finType) (B : K -> K -> R) (a e : R).
Hypothesis a0 : 0 <= a.
Hypothesis hB : forall u, norm (T B u) <= a * norm u.
Hypothesis he : detour B 1 e.

Lemma detour_ge0 r : detour B r e -> 0 <= r -> 0 <= e.
Proof.
move=> h r0; have n0 : norm (fun _ : K => 0) <= r.
  by rewrite /norm /dot (sum_ext (g := fun=> 0)) ?sum0 ?sqrt_0 // => k; ring.
have := h _ _ n0 n0; rewrite /form /dot (sum_ext (g := fun=> 0)) ?sum0 // => k.
by rewrite /minus; ring.
Qed.

Lemma speed_detour (I : finType) (w : I -> R) (z h u : I -> K -> R) : law w -> (forall i, norm (z i) <= 1) ->
  (forall i, norm (u i) <= 1) ->
  mean w (speed B w z h u) <= (exp e * (1 + 2 * a) + a) * mean w (fun j => norm (h j)).
Proof.
move=> hw ball hu; have -> : exp e * (1 + 2 * a) + a = (1 + a * 2) * exp e + a * 1 by ring.
apply: speed_le => //; try lra.
- by move=> i u'; rewrite Rmult_1_r; apply: variance_one => //; apply: tilt_law.
- move=> i j; apply: (Rle_trans _ _ _ (norm_minus _ _)); have := ball j.
  by have := centre_ball ball (tilt_law hw (fun j => form B (z i) (z j))); rewrite /seen; lra.
by move=> j; apply: (column_detour hw he ball (ball j)).
Qed.

(* The terms of the keys, squared: a variance of at most one along the image of the query. *)
Lemma keys_detour (I : finType) (w : I -> R) (z h : I -> K -> R) i u : law w -> (forall i, norm (z i) <= 1) ->
  let p := seen_by B w z i in
  mean p (fun j => dot u (h j) + form B (z i) (h j) * (dot u (z j) - mean p (fun j => dot u (z j)))) ^ 2 <=
  dot u u * ((1 + a ^ 2) * mean p (fun j => dot (h j) (h j))).
Proof.
move=> hw ball p; have hp : law p by apply: tilt_law.
set f := fun j => dot u (z j); set mf := mean p f; pose b := T B (z i); pose c j k := u k + (f j - mf) * b k.
have -> : mean p (fun j => dot u (h j) + form B (z i) (h j) * (f j - mf)) = mean p (fun j => dot (c j) (h j)).
  by apply: mean_ext => j; rewrite /c dotDl dotZl /form -/b; ring.
have first : mean p (fun j => dot (c j) (c j)) <= dot u u * (1 + a ^ 2).
  have -> : mean p (fun j => dot (c j) (c j)) = dot u u + dot b b * variance p f.
    have -> : mean p (fun j => dot (c j) (c j)) =
        mean p (fun j => dot b b * (f j - mf) ^ 2 + (2 * dot u b * f j + (dot u u - 2 * dot u b * mf))).
      by apply: mean_ext => j; rewrite /c dot_line; ring.
    by rewrite meanD meanD !meanZ (mean_const _ hp) -/mf /variance -/mf; ring.
  have b2 : dot b b <= a ^ 2.
    rewrite -norm_sq; have := norm_ge0 b; have : norm b <= a.
      by apply: Rle_trans (hB (z i)) _; have := ball i; have := norm_ge0 (z i); nra.
    by nra.
  have := Rmult_le_compat _ _ _ _ (dot_ge0 b) (variance_ge0 f hp) b2 (variance_one ball u hp); lra.
have pos (v : I -> K -> R) : 0 <= mean p (fun j => dot (v j) (v j)).
  by apply: sum_ge0 => j; apply: Rmult_le_pos; [apply: (proj1 hp) | apply: dot_ge0].
rewrite -Rmult_assoc; apply: Rle_trans (Rmult_le_compat_r _ _ _ (pos h) first).
apply: discriminant => // t.
have -> : mean p (fun j => dot (c j) (c j)) + 2 * t * mean p (fun j => dot (c j) (h j)) +
    t ^ 2 * mean p (fun j => dot (h j) (h j)) = mean p (fun j => dot (fun k => c j k + t * h j k)
      (fun k => c j k + t * h j k)) by rewrite -!meanZ -!meanD; apply: mean_ext => j; rewrite dot_line.
exact: pos.
Qed.

Lemma square_detour (I : finType) (w : I -> R) (x y : I -> K -> R) : law w -> (forall i, norm (x i) <= 1) ->
  (forall i, norm (y i) <= 1) ->
  mean w (fun i => norm (minus (output B w x (x i)) (output B w y (y i))) ^ 2) <=
  (exp (e / 2) * sqrt (1 + a ^ 2) + a) ^ 2 * mean w (fun i => norm (minus (x i) (y i)) ^ 2).
Proof.
move=> hw hx hy; rewrite (Rplus_comm _ a); apply: moved_square_by => //.
  by apply: Rmult_le_pos; [left; apply: exp_pos | apply: sqrt_pos].
move=> z h ball; exists (fun i => (1 + a ^ 2) * mean (seen_by B w z i) (fun j => dot (h j) (h j))).
have aa : 0 <= 1 + a ^ 2 by have := pow2_ge_0 a; lra.
split=> [i|].
  apply: Rmult_le_pos => //; apply: sum_ge0 => j; apply: Rmult_le_pos; last exact: dot_ge0.
  by apply: (proj1 (tilt_law hw _)).
split=> [|i u]; last exact: keys_detour.
have -> : (exp (e / 2) * sqrt (1 + a ^ 2)) ^ 2 = (1 + a ^ 2) * exp e.
  have -> : exp e = exp (e / 2) * exp (e / 2) by rewrite -exp_plus; congr exp; field.
  by rewrite -[X in _ = X * _](sqrt_sqrt _ aa); ring.
rewrite meanZ Rmult_assoc; apply: Rmult_le_compat_l => //.
have -> : mean w (fun i => mean (seen_by B w z i) (fun j => dot (h j) (h j))) =
    \sum_j (w j * dot (h j) (h j) * mean w (fun i => density w (fun l => form B (z i) (z l)) j)).
  have -> : mean w (fun i => mean (seen_by B w z i) (fun j => dot (h j) (h j))) =
      \sum_i \sum_j (w j * dot (h j) (h j) * (w i * density w (fun l => form B (z i) (z l)) j)).
    by rewrite /mean; apply: sum_ext => i; rewrite -sumZ; apply: sum_ext => j; rewrite /seen_by /seen /tilt; ring.
  by rewrite sum_exchange; apply: sum_ext => j; rewrite sumZ.
rewrite /mean -sumZ; apply: sum_le => j; rewrite (Rmult_comm (exp e)).
apply: Rmult_le_compat_l; last exact: (column_detour hw he ball (ball j)).
by apply: Rmult_le_pos; [apply: (proj1 hw) | apply: dot_ge0].
Qed.
End Bound.

(* The detours of the scaled form. *)
Lemma detour_scaled (K : finType) (B : K -> K -> R) r e : 0 < r -> detour B r e ->
  detour (fun k l => r ^ 2 * B k l) 1 e.
Proof.
move=> r0 h x y hx hy; have grow (u : K -> R) : norm u <= 1 -> norm (fun k => r * u k) <= r.
  by move=> hu; rewrite norm_scale; [nra | lra].
have := h _ _ (grow x hx) (grow y hy); suff -> : form (fun k l => r ^ 2 * B k l) x (minus y x) =
  form B (fun k => r * x k) (minus (fun k => r * y k) (fun k => r * x k)) by [].
by rewrite /form /dot; apply: sum_ext => l; rewrite /T /minus -!sumZr; apply: sum_ext => k; ring.
Qed.

(* The theorem, for every radius and value matrix; a = b r^2.
   Part of: lipschitz.single-form. *)
Theorem attention_W1_detour (K L I J : finType) (B : K -> K -> R) (V : L -> K -> R) b v r e (p : I -> R) (q : J -> R)
  (x : I -> K -> R) (y : J -> K -> R) before after :
  0 < r -> 0 <= b -> 0 <= v ->
  (forall u, norm (T B u) <= b * norm u) -> (forall u, norm (apply_matrix V u) <= v * norm u) -> detour B r e ->
  law p -> law q -> (forall i, norm (x i) <= r) -> (forall j, norm (y j) <= r) ->
  W1 (fun i j => norm (minus (x i) (y j))) p q before ->
  W1 (fun i j => norm (minus (apply_matrix V (output B p x (x i))) (apply_matrix V (output B q y (y j))))) p q after ->
  after <= v * (exp e * (1 + 2 * (b * r ^ 2)) + b * r ^ 2) * before.
Proof.
move=> r0 b0 v0 hB hV he hp hq; have a0 := Rmult_le_pos _ _ b0 (pow2_ge_0 r).
have C0 : 0 < exp e * (1 + 2 * (b * r ^ 2)) + b * r ^ 2.
  by have := exp_pos e => E0; have := Rmult_lt_0_compat _ (1 + 2 * (b * r ^ 2)) E0 ltac:(lra); lra.
apply: (scaled (f := fun t => t)) => // [|x' y' before' after' B' hx hy]; first by left.
apply: (W1_moved (D := fun u v => norm (minus u v))) => // M w x1 y1 hw.
apply: moved_by => // z h u; apply: speed_detour => // [u'|]; [exact: norm_scaled | exact: detour_scaled].
Qed.

(* In W_2, for squares.
   Part of: lipschitz.single-form. *)
Theorem attention_W2_detour (K L I J : finType) (B : K -> K -> R) (V : L -> K -> R) b v r e (p : I -> R) (q : J -> R)
  (x : I -> K -> R) (y : J -> K -> R) before after :
  0 < r -> 0 <= b -> 0 <= v ->
  (forall u, norm (T B u) <= b * norm u) -> (forall u, norm (apply_matrix V u) <= v * norm u) -> detour B r e ->
  law p -> law q -> (forall i, norm (x i) <= r) -> (forall j, norm (y j) <= r) ->
  W1 (fun i j => norm (minus (x i) (y j)) ^ 2) p q before ->
  W1 (fun i j => norm (minus (apply_matrix V (output B p x (x i))) (apply_matrix V (output B q y (y j)))) ^ 2) p q
    after ->
  after <= v ^ 2 * (exp (e / 2) * sqrt (1 + (b * r ^ 2) ^ 2) + b * r ^ 2) ^ 2 * before.
Proof.
move=> r0 b0 v0 hB hV he hp hq; have a0 := Rmult_le_pos _ _ b0 (pow2_ge_0 r).
have C0 : 0 < exp (e / 2) * sqrt (1 + (b * r ^ 2) ^ 2) + b * r ^ 2.
  suff : 0 < exp (e / 2) * sqrt (1 + (b * r ^ 2) ^ 2) by lra.
  apply: Rmult_lt_0_compat; first exact: exp_pos.
  by apply: sqrt_lt_R0; have := pow2_ge_0 (b * r ^ 2); lra.
apply: (scaled (f := fun t => t ^ 2)) => // [|s t h|s t _ _|x' y' before' after' B' hx hy].
- exact: pow2_ge_0.
- by split; [apply: pow2_ge_0 | nra].
- by ring.
apply: (W1_moved (D := fun u v => norm (minus u v) ^ 2)) => // [|M w x1 y1 hw h1 h2]; first by nra.
apply: square_detour => // [u'|]; [exact: norm_scaled | exact: detour_scaled].
Qed.
