(* Attention in W_2 on the unit ball: the density and the variance of an attention law cannot both be large, so that the
   constant is a + max_u sqrt((e^(2a) (1 - u) + u) (1 + 4 a^2 u (1 - u))), at most e^a (1 + a) + a.

   Reader's checklist: as in [SharpW1]; [W1] is used with squared distances as costs, so that it is the square of W_2,
   and the constant is squared; M is any number of which the square is at least that of which the root is taken, for all
   u between 0 and 1. The claim is about all laws on the ball, and also measures how near clouds come. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Euclid Jacobian Tilt Transport SharpW1 Scaling DetourLeast Least
  IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

(* A quadratic that is not negative. *)
Lemma discriminant A B C : 0 <= A -> 0 <= C -> (forall t, 0 <= A + 2 * t * B + t ^ 2 * C) -> B ^ 2 <= A * C.
Proof.
move=> A0 C0 h; case: (Req_dec C 0) => [z|ne].
  case: (Req_dec B 0) => [->|b]; first by rewrite z; lra.
  have := h (- (A + 1) / (2 * B)); rewrite z.
  have -> : 2 * (- (A + 1) / (2 * B)) * B = - (A + 1) by field.
  by lra.
have := h (- B / C); have -> : A + 2 * (- B / C) * B + (- B / C) ^ 2 * C = (A * C - B ^ 2) / C by field.
move=> k; have := Rmult_le_compat_r C _ _ C0 k; have -> : (A * C - B ^ 2) / C * C = A * C - B ^ 2 by field.
by lra.
Qed.

(* The chord of the exponential. *)
Lemma exp_chord b s : - 1 <= s <= 1 -> exp (- (b * s)) <= (1 - (1 + s) / 2) * exp b + (1 + s) / 2 * exp (- b).
Proof.
move=> hs; have slope x y : exp x * (1 + (y - x)) <= exp y.
  have -> : exp y = exp x * exp (y - x) by rewrite -exp_plus; congr exp; ring.
  by apply: Rmult_le_compat_l; [left; apply: exp_pos | apply: exp_ineq1_le].
have h1 := slope (- (b * s)) b; have h2 := slope (- (b * s)) (- b).
have g1 := Rmult_le_compat_l (1 - (1 + s) / 2) _ _ ltac:(lra) h1.
have g2 := Rmult_le_compat_l ((1 + s) / 2) _ _ ltac:(lra) h2.
by lra.
Qed.

Section Query.
Variables (K I : finType) (B : K -> K -> R) (w : I -> R) (a : R) (z : I -> K -> R).
Hypothesis hw : law w.
Hypothesis a0 : 0 <= a.
Hypothesis hB : forall u, norm (T B u) <= a * norm u.
Hypothesis ball : forall i, norm (z i) <= 1.
Implicit Types (u v : K -> R) (h : I -> K -> R) (i j : I) (M : R).

Lemma abs_dot u v : Rabs (dot u v) <= norm u * norm v.
Proof.
apply: Rabs_le; split; last exact: cauchy_schwarz.
have := cauchy_schwarz (fun k => -1 * u k) v; rewrite dotZl.
have -> : norm (fun k => -1 * u k) = norm u by rewrite /norm; congr sqrt; apply: sum_ext => k; ring.
by lra.
Qed.

Lemma dot_line u v t :
  dot (fun k => u k + t * v k) (fun k => u k + t * v k) = dot u u + 2 * t * dot u v + t ^ 2 * dot v v.
Proof. by rewrite /dot -!sumZ -!sumD; apply: sum_ext => k; ring. Qed.

(* The term of the query. *)
Lemma query_le p u v : law p ->
  mean p (fun j => form B v (z j) * (dot u (z j) - mean p (fun j => dot u (z j)))) <= a * norm v * norm u.
Proof.
move=> hp; set f := fun j => dot u (z j); set s := fun j => form B v (z j).
have -> : mean p (fun j => s j * (f j - mean p f)) = mean p (fun j => (s j - mean p s) * (f j - mean p f)).
  have -> : mean p (fun j => (s j - mean p s) * (f j - mean p f)) =
      mean p (fun j => s j * (f j - mean p f) + (- mean p s * f j + mean p s * mean p f)).
    by apply: mean_ext => j; ring.
  by rewrite meanD meanD meanZ (mean_const (mean p s * mean p f) hp); ring.
have cs := covariance_le f s hp; set c := mean p _ in cs *.
have vf : variance p f <= dot u u := variance_one ball u hp.
have vs : variance p s <= dot (T B v) (T B v) := variance_one ball (T B v) hp.
have n0 := norm_ge0 v; have u0 := norm_ge0 u; have T0 := norm_ge0 (T B v); have nT := hB v.
apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos => //; apply: Rmult_le_pos.
have -> : Rsqr c = c ^ 2 by rewrite /Rsqr; ring.
apply: (Rle_trans _ _ _ cs).
have -> : Rsqr (a * norm v * norm u) = (a * norm v) * (a * norm v) * dot u u by rewrite /Rsqr -norm_sq; ring.
apply: Rmult_le_compat => //; try exact: variance_ge0.
by apply: (Rle_trans _ _ _ vs); rewrite -norm_sq; apply: Rmult_le_compat.
Qed.

Definition seen_by i := seen B w z (z i).

(* The terms of the keys, squared: a factor for the variance and one for the density, of the same u. *)
Lemma keys_le h i u M :
  (forall s : R, 0 <= s <= 1 -> (exp (2 * a) * (1 - s) + s) * (1 + 4 * a ^ 2 * s * (1 - s)) <= M ^ 2) ->
  mean (seen_by i) (fun j => dot u (h j) +
    form B (z i) (h j) * (dot u (z j) - mean (seen_by i) (fun j => dot u (z j)))) ^ 2 <=
  dot u u * M ^ 2 * mean w (fun j => dot (h j) (h j)).
Proof.
move=> hM; set p := seen_by i; have hp : law p by apply: tilt_law.
set f := fun j => dot u (z j); set mf := mean p f; pose b := T B (z i); pose c j k := u k + (f j - mf) * b k.
have -> : mean p (fun j => dot u (h j) + form B (z i) (h j) * (f j - mf)) = mean p (fun j => dot (c j) (h j)).
  by apply: mean_ext => j; rewrite /c dotDl dotZl /form -/b; ring.
set H := mean w (fun j => dot (h j) (h j)).
pose be := norm b; pose e k := / be * b k; pose s j := dot e (z j); pose v := (1 + mean p s) / 2.
have be0 : 0 <= be := norm_ge0 b.
have bea : be <= a by apply: Rle_trans (hB (z i)) _; have := ball i; have := norm_ge0 (z i); nra.
have bb : dot b b = be * be by rewrite norm_sq.
have scale : forall k, b k = be * e k.
  move=> k; rewrite /e; case: (Req_dec be 0) => [z0|ne]; last by field.
  have sq : b k * b k = 0.
    by apply: (sum_eq0 (f := fun k => b k * b k)) => [l|]; [exact: Rle_0_sqr | rewrite -/(dot b b) bb z0; ring].
  by rewrite z0; case: (Rmult_integral _ _ sq) => ->; ring.
have e1 : norm e <= 1.
  have sq : dot e e = (/ be * be) ^ 2.
    have -> : dot e e = / be * / be * dot b b by rewrite /e dotZl dotC dotZl; ring.
    by rewrite bb; ring.
  apply: Rsqr_incr_0_var; last by lra.
  rewrite /Rsqr norm_sq sq; case: (Req_dec be 0) => [->|ne]; first by rewrite Rmult_0_r; lra.
  by rewrite Rinv_l //; lra.
have s1 j : - 1 <= s j <= 1.
  have k := abs_dot e (z j); have q := Rle_abs (dot e (z j)); have q' := Rle_abs (- dot e (z j)).
  rewrite Rabs_Ropp in q'; have : norm e * norm (z j) <= 1.
    by have := ball j; have := norm_ge0 e; have := norm_ge0 (z j); nra.
  by rewrite /s; lra.
have v1 : 0 <= v <= 1.
  have lo : mean p (fun=> -1) <= mean p s by apply: mean_le => // j; case: (s1 j).
  have hi : mean p s <= mean p (fun=> 1) by apply: mean_le => // j; case: (s1 j).
  by move: lo hi; rewrite !(mean_const _ hp) /v; lra.
(* the variance *)
have var : variance p f <= dot u u * (4 * v * (1 - v)).
  pose m k := mean p (fun j => z j k).
  have dm y : dot m y = mean p (fun j => dot (z j) y) by rewrite /m dot_mean.
  have total : mean p (fun j => dot (minus (z j) m) (minus (z j) m)) <= 4 * v * (1 - v).
    have -> : mean p (fun j => dot (minus (z j) m) (minus (z j) m)) = mean p (fun j => dot (z j) (z j)) - dot m m.
      have -> : mean p (fun j => dot (minus (z j) m) (minus (z j) m)) =
          mean p (fun j => dot (z j) (z j) + (-2 * dot (z j) m + dot m m)).
        by apply: mean_ext => j; rewrite /minus dotBl !dotBr (dotC m (z j)); ring.
      by rewrite meanD meanD meanZ (mean_const _ hp) -dm; ring.
    have one : mean p (fun j => dot (z j) (z j)) <= 1.
      rewrite -[X in _ <= X](mean_const _ hp); apply: mean_le => // j; rewrite -norm_sq.
      by have := ball j; have := norm_ge0 (z j); nra.
    have em : dot e m = mean p s by rewrite dotC dm; apply: mean_ext => j; rewrite dotC.
    have := dot_sq e m; rewrite em -(norm_sq e); have n0 := norm_ge0 e; have m0 := dot_ge0 m => k.
    have : mean p s ^ 2 <= dot m m.
      by apply: Rle_trans k _; rewrite -[X in _ <= X]Rmult_1_l; apply: Rmult_le_compat_r => //; nra.
    by rewrite /v; lra.
  apply: Rle_trans (Rmult_le_compat_l _ _ _ (dot_ge0 u) total).
  rewrite /variance -/mf -meanZ; apply: mean_le => // j.
  have -> : f j - mf = dot u (minus (z j) m) by rewrite dotBr (dotC u m) dm /f /mf; congr (_ - _); apply: mean_ext => l;
    exact: dotC.
  exact: dot_sq.
have first : mean p (fun j => dot (c j) (c j)) <= dot u u * (1 + 4 * a ^ 2 * v * (1 - v)).
  have -> : mean p (fun j => dot (c j) (c j)) = dot u u + dot b b * variance p f.
    have -> : mean p (fun j => dot (c j) (c j)) =
        mean p (fun j => dot b b * (f j - mf) ^ 2 + (2 * dot u b * f j + (dot u u - 2 * dot u b * mf))).
      by apply: mean_ext => j; rewrite /c dot_line; ring.
    by rewrite meanD meanD !meanZ (mean_const _ hp) -/mf /variance -/mf; ring.
  have uu := dot_ge0 u; have v0 : 0 <= 4 * v * (1 - v) by nra.
  have b2 : dot b b <= a ^ 2 by rewrite bb; nra.
  have := variance_ge0 f hp => V0; have X0 : 0 <= dot u u * (4 * v * (1 - v)) by apply: Rmult_le_pos.
  have := Rmult_le_compat _ _ _ _ (dot_ge0 b) V0 b2 var; lra.
(* the density *)
pose sc j := form B (z i) (z j).
have scs j : sc j = be * s j.
  by rewrite /sc /form -/b /s -dotZl; apply: dot_ext => // k; apply: scale.
have mass0 := mass_gt0 hw sc.
have inverse : / mass w sc = mean p (fun j => exp (- sc j)).
  have -> : mean p (fun j => exp (- sc j)) = / mass w sc * \sum_j w j.
    rewrite -sumZ; apply: sum_ext => j; have -> : p j = w j * (exp (sc j) / mass w sc) by [].
    by rewrite exp_Ropp; have := exp_pos (sc j) => *; field; lra.
  by rewrite (proj2 hw); ring.
have flat : mean p (fun j => exp (- sc j)) <= (1 - v) * exp be + v * exp (- be).
  apply: (Rle_trans _ (mean p (fun j => (1 - (1 + s j) / 2) * exp be + (1 + s j) / 2 * exp (- be)))).
    by apply: mean_le => // j; rewrite scs; apply: exp_chord.
  right; have -> : mean p (fun j => (1 - (1 + s j) / 2) * exp be + (1 + s j) / 2 * exp (- be)) =
    mean p (fun j => (exp (- be) - exp be) / 2 * s j + (exp be + exp (- be)) / 2) by apply: mean_ext => j; field.
  by rewrite meanD meanZ (mean_const _ hp) /v; field.
have dens j : density w sc j <= exp (2 * a) * (1 - v) + v.
  have eb := exp_pos be; have eb' := exp_pos (- be).
  have top : exp (sc j) <= exp be by apply: exp_le; rewrite scs; have := s1 j; nra.
  have grow : exp (2 * be) <= exp (2 * a) by apply: exp_le; lra.
  rewrite /density /Rdiv inverse; apply: (Rle_trans _ (exp be * ((1 - v) * exp be + v * exp (- be)))).
    apply: Rmult_le_compat => //; first by left; apply: exp_pos.
    by rewrite -inverse; left; apply: Rinv_0_lt_compat.
  have -> : exp be * ((1 - v) * exp be + v * exp (- be)) =
    (1 - v) * (exp be * exp be) + v * (exp be * exp (- be)) by ring.
  rewrite -!exp_plus Rplus_opp_r exp_0; have -> : be + be = 2 * be by ring.
  by have := Rmult_le_compat_l (1 - v) _ _ ltac:(lra) grow; lra.
have h0 j : 0 <= dot (h j) (h j) := dot_ge0 (h j).
have H0 : 0 <= H by apply: sum_ge0 => j; apply: Rmult_le_pos => //; apply: (proj1 hw).
have second : mean p (fun j => dot (h j) (h j)) <= (exp (2 * a) * (1 - v) + v) * H.
  rewrite /H -meanZ; apply: sum_le => j; have -> : p j = w j * density w sc j by [].
  rewrite Rmult_assoc.
  apply: Rmult_le_compat_l; first exact: (proj1 hw).
  by apply: Rmult_le_compat_r => //; apply: dens.
have c0 : 0 <= mean p (fun j => dot (c j) (c j)).
  by apply: sum_ge0 => j; apply: Rmult_le_pos; [apply: (proj1 hp) | apply: dot_ge0].
have p0 : 0 <= mean p (fun j => dot (h j) (h j)) by apply: sum_ge0 => j; apply: Rmult_le_pos => //; apply: (proj1 hp).
apply: (Rle_trans _ (mean p (fun j => dot (c j) (c j)) * mean p (fun j => dot (h j) (h j)))).
  apply: discriminant => // t.
  have -> : mean p (fun j => dot (c j) (c j)) + 2 * t * mean p (fun j => dot (c j) (h j)) +
      t ^ 2 * mean p (fun j => dot (h j) (h j)) =
      mean p (fun j => dot (fun k => c j k + t * h j k) (fun k => c j k + t * h j k)).
    by rewrite -!meanZ -!meanD; apply: mean_ext => j; rewrite dot_line.
  by apply: sum_ge0 => j; apply: Rmult_le_pos; [apply: (proj1 hp) | apply: dot_ge0].
apply: (Rle_trans _ (dot u u * (1 + 4 * a ^ 2 * v * (1 - v)) * ((exp (2 * a) * (1 - v) + v) * H))).
  exact: Rmult_le_compat.
have := Rmult_le_compat_l (dot u u * H) _ _ (Rmult_le_pos _ _ (dot_ge0 u) H0) (hM v v1); lra.
Qed.
End Query.

(* Cauchy and Schwarz for means. *)
Lemma mean_product (I : finType) (w f g : I -> R) : law w ->
  mean w (fun i => f i * g i) <= sqrt (mean w (fun i => f i ^ 2)) * sqrt (mean w (fun i => g i ^ 2)).
Proof.
move=> hw; have sq0 (s : I -> R) : 0 <= mean w (fun i => s i ^ 2).
  by apply: sum_ge0 => i; apply: Rmult_le_pos; [apply: (proj1 hw) | apply: pow2_ge_0].
apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos; apply: sqrt_pos.
set F := mean w (fun i => f i ^ 2); set G := mean w (fun i => g i ^ 2).
have -> : Rsqr (sqrt F * sqrt G) = F * G.
  by rewrite -[X in _ = X * _](sqrt_sqrt F (sq0 f)) -[X in _ = _ * X](sqrt_sqrt G (sq0 g)) /Rsqr; ring.
rewrite Rsqr_pow2; apply: discriminant; [exact: sq0 | exact: sq0 | move=> t].
have -> : F + 2 * t * mean w (fun i => f i * g i) + t ^ 2 * G = mean w (fun i => (f i + t * g i) ^ 2).
  by rewrite -!meanZ -!meanD; apply: mean_ext => i; ring.
exact: sq0.
Qed.

(* The same atoms moved, in the mean square: squares of the terms of the keys are at most X_i, of mean M^2 H. *)
Lemma moved_square_by (K I : finType) (B : K -> K -> R) (w : I -> R) a M (x y : I -> K -> R) : law w -> 0 <= a ->
  (forall u, norm (T B u) <= a * norm u) -> (forall i, norm (x i) <= 1) -> (forall i, norm (y i) <= 1) -> 0 <= M ->
  (forall z h : I -> K -> R, (forall i, norm (z i) <= 1) -> exists X : I -> R, (forall i, 0 <= X i) /\
    mean w X <= M ^ 2 * mean w (fun j => dot (h j) (h j)) /\ forall i u, mean (seen_by B w z i) (fun j => dot u (h j) +
      form B (z i) (h j) * (dot u (z j) - mean (seen_by B w z i) (fun j => dot u (z j)))) ^ 2 <= dot u u * X i) ->
  mean w (fun i => norm (minus (output B w x (x i)) (output B w y (y i))) ^ 2) <=
  (a + M) ^ 2 * mean w (fun i => norm (minus (x i) (y i)) ^ 2).
Proof.
move=> hw a0 hB bx hy M0 hM; pose h i := minus (y i) (x i).
pose u i := minus (output B w y (y i)) (output B w x (x i)).
have sym (s t : K -> R) : norm (minus s t) = norm (minus t s).
  by rewrite /norm; congr sqrt; apply: sum_ext => k; rewrite /minus; ring.
have -> : mean w (fun i => norm (minus (output B w x (x i)) (output B w y (y i))) ^ 2) =
    mean w (fun i => dot (u i) (u i)).
  by apply: mean_ext => i; rewrite sym -norm_sq -/(u i); ring.
have -> : mean w (fun i => norm (minus (x i) (y i)) ^ 2) = mean w (fun i => dot (h i) (h i)).
  by apply: mean_ext => i; rewrite sym -norm_sq -/(h i); ring.
have := phi_ends B w x y u; set D := mean w (fun i => dot (u i) (u i)); set H := mean w (fun i => dot (h i) (h i)).
rewrite -[X in _ = X]/D => ends.
pose z r i : K -> R := fun k => x i k + r * h i k.
pose phi r := mean w (fun i => mean (seen B w (z r) (z r i)) (fun j => dot (u i) (z r j))).
have d r : is_derive phi r (mean w (speed B w (z r) h u)) := phi_derivative B x y hw u r.
have D0 : 0 <= D by apply: sum_ge0 => i; apply: Rmult_le_pos; [apply: (proj1 hw) | apply: dot_ge0].
have H0 : 0 <= H by apply: sum_ge0 => i; apply: Rmult_le_pos; [apply: (proj1 hw) | apply: dot_ge0].
case: (MVT_gen phi 0 1 (fun r => mean w (speed B w (z r) h u))) => [r _|r _|r [hr e]]; first exact: d.
  by apply: derivable_continuous_pt; exists (mean w (speed B w (z r) h u)); apply/is_derive_Reals; exact: d.
rewrite Rmin_left in hr; last by lra.
rewrite Rmax_right in hr; last by lra.
have bz i : norm (z r i) <= 1 := z_ball bx hy i hr.
case: (hM (z r) h bz) => X [X0 [total keys]].
have row i : speed B w (z r) h u i <= a * (norm (u i) * norm (h i)) + norm (u i) * sqrt (X i).
  have hp : law (seen_by B w (z r) i) by apply: tilt_law.
  have q := query_le a0 hB bz (u i) (h i) hp; have k := keys i (u i).
  rewrite /speed -/(seen_by B w (z r) i); set p := seen_by _ _ _ _ in hp q k *.
  set f := fun j => dot (u i) (z r j) in q k *.
  have {}k : mean p (fun j => dot (u i) (h j) + form B (z r i) (h j) * (f j - mean p f)) <= norm (u i) * sqrt (X i).
    apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos; [apply: norm_ge0 | apply: sqrt_pos].
    have -> : Rsqr (norm (u i) * sqrt (X i)) = dot (u i) (u i) * X i.
      by rewrite /Rsqr -norm_sq -{3}(sqrt_sqrt (X i)) //; ring.
    by rewrite Rsqr_pow2.
  have -> : mean p (fun j => dot (u i) (h j)) +
      mean p (fun j => (form B (h i) (z r j) + form B (z r i) (h j)) * (f j - mean p f)) =
      mean p (fun j => form B (h i) (z r j) * (f j - mean p f)) +
      mean p (fun j => dot (u i) (h j) + form B (z r i) (h j) * (f j - mean p f)).
    by rewrite -!meanD; apply: mean_ext => j; ring.
  by have := Rplus_le_compat _ _ _ _ q k => s; apply: Rle_trans s _; right; ring.
have rows : D <= a * mean w (fun i => norm (u i) * norm (h i)) + mean w (fun i => norm (u i) * sqrt (X i)).
  by rewrite -meanZ -meanD; apply: Rle_trans (mean_le hw row); right; rewrite -ends -[LHS]/(phi 1 - phi 0) e; ring.
have nu : mean w (fun i => norm (u i) ^ 2) = D by apply: mean_ext => i; rewrite -norm_sq; ring.
have nh : mean w (fun i => norm (h i) ^ 2) = H by apply: mean_ext => i; rewrite -norm_sq; ring.
have nX : mean w (fun i => sqrt (X i) ^ 2) = mean w X by apply: mean_ext => i; rewrite -Rsqr_pow2 Rsqr_sqrt.
have b1 := mean_product (fun i => norm (u i)) (fun i => sqrt (X i)) hw.
have b2 := mean_product (fun i => norm (u i)) (fun i => norm (h i)) hw; rewrite nu nh in b2; rewrite nu nX in b1.
have s0 := sqrt_pos H; have t0 := sqrt_pos D.
have sD := sqrt_sqrt D D0; have sH := sqrt_sqrt H H0.
have b3 : sqrt (mean w X) <= M * sqrt H.
  rewrite -(sqrt_square M M0) -sqrt_mult_alt; last by apply: Rmult_le_pos.
  by apply: sqrt_le_1_alt; have -> : M * M * H = M ^ 2 * H by ring.
have whole : D <= (a + M) * sqrt H * sqrt D.
  have := Rmult_le_compat_l a _ _ a0 b2; have := Rmult_le_compat_l _ _ _ t0 b3; lra.
have root : sqrt D <= (a + M) * sqrt H.
  case: t0 => [t0|<-]; last by apply: Rmult_le_pos; lra.
  by apply: (Rmult_le_reg_r (sqrt D)) => //; rewrite sD.
have -> : (a + M) ^ 2 * H = ((a + M) * sqrt H) * ((a + M) * sqrt H) by rewrite -{1}sH; ring.
by rewrite -sD; apply: Rmult_le_compat.
Qed.

Lemma moved_square (K I : finType) (B : K -> K -> R) (w : I -> R) a M (x y : I -> K -> R) : law w -> 0 <= a ->
  (forall u, norm (T B u) <= a * norm u) -> (forall i, norm (x i) <= 1) -> (forall i, norm (y i) <= 1) -> 0 <= M ->
  (forall v, 0 <= v <= 1 -> (exp (2 * a) * (1 - v) + v) * (1 + 4 * a ^ 2 * v * (1 - v)) <= M ^ 2) ->
  mean w (fun i => norm (minus (output B w x (x i)) (output B w y (y i))) ^ 2) <=
  (a + M) ^ 2 * mean w (fun i => norm (minus (x i) (y i)) ^ 2).
Proof.
move=> hw a0 hB bx hy M0 hM; apply: moved_square_by => // z h hz; set H := mean w _.
have H0 : 0 <= H by apply: sum_ge0 => i; apply: Rmult_le_pos; [apply: (proj1 hw) | apply: dot_ge0].
exists (fun=> M ^ 2 * H); rewrite (mean_const _ hw); split=> [i|].
  by apply: Rmult_le_pos => //; apply: pow2_ge_0.
split=> [|i u]; first by lra.
by rewrite -Rmult_assoc; exact: (keys_le hw a0 hB hz h i u hM).
Qed.

(* The theorem, for squares. The second part: M = e^a (1 + a) serves.
   Part of: lipschitz.refined-w2. *)
Theorem attention_W2 (K I J : finType) (B : K -> K -> R) a M (p : I -> R) (q : J -> R) (x : I -> K -> R)
  (y : J -> K -> R) before after : 0 <= a -> (forall u, norm (T B u) <= a * norm u) ->
  law p -> law q -> (forall i, norm (x i) <= 1) -> (forall j, norm (y j) <= 1) ->
  W1 (fun i j => norm (minus (x i) (y j)) ^ 2) p q before ->
  W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j))) ^ 2) p q after ->
  (0 <= M -> (forall v, 0 <= v <= 1 -> (exp (2 * a) * (1 - v) + v) * (1 + 4 * a ^ 2 * v * (1 - v)) <= M ^ 2) ->
    after <= (a + M) ^ 2 * before) /\
  after <= (a + exp a * (1 + a)) ^ 2 * before.
Proof.
move=> a0 hB hp hq hx hy before_ after_.
have main N : 0 <= N ->
    (forall v, 0 <= v <= 1 -> (exp (2 * a) * (1 - v) + v) * (1 + 4 * a ^ 2 * v * (1 - v)) <= N ^ 2) ->
    after <= (a + N) ^ 2 * before.
  move=> N0 hN; have N1 : 1 <= N ^ 2 by have := hN 1 ltac:(lra); lra.
  apply: (W1_moved (D := fun u v => norm (minus u v) ^ 2)) before_ after_ => // [|L w x' y' hw h1 h2]; first by nra.
  exact: moved_square.
split; first exact: main.
have e := exp_pos a.
have ee : exp (2 * a) = exp a * exp a by rewrite -exp_plus; congr exp; ring.
have e1 : 1 <= exp a by have := exp_ineq1_le a; lra.
apply: main => [|v hv]; first by apply: Rmult_le_pos; lra.
have -> : (exp a * (1 + a)) ^ 2 = exp (2 * a) * (1 + a) ^ 2 by rewrite ee; ring.
have E1 : 1 <= exp (2 * a) by have := exp_ineq1_le (2 * a); lra.
have f1 : exp (2 * a) * (1 - v) + v <= exp (2 * a).
  by have := Rmult_le_pos v (exp (2 * a) - 1) ltac:(lra) ltac:(lra); lra.
have f2 : 1 + 4 * a ^ 2 * v * (1 - v) <= (1 + a) ^ 2.
  have k : 4 * v * (1 - v) <= 1 by have := pow2_ge_0 (2 * v - 1); lra.
  by have := Rmult_le_compat_l (a ^ 2) _ _ (pow2_ge_0 a) k; lra.
have g1 : 0 <= exp (2 * a) * (1 - v) + v.
  by have := Rmult_le_pos _ (1 - v) (Rlt_le _ _ (exp_pos (2 * a))) ltac:(lra); lra.
have g2 : 0 <= 1 + 4 * a ^ 2 * v * (1 - v).
  have k : 0 <= v * (1 - v) by apply: Rmult_le_pos; lra.
  by have := Rmult_le_pos (a ^ 2) _ (pow2_ge_0 a) k; lra.
exact: Rmult_le_compat.
Qed.

(* For every radius and value matrix: a = b r^2, and v times the constant.
   Part of: lipschitz.refined-w2. *)
Theorem attention_W2_scaled (K L I J : finType) (B : K -> K -> R) (V : L -> K -> R) b v r M (p : I -> R) (q : J -> R)
  (x : I -> K -> R) (y : J -> K -> R) before after : let a := b * r ^ 2 in
  0 < r -> 0 <= b -> 0 <= v ->
  (forall u, norm (T B u) <= b * norm u) -> (forall u, norm (apply_matrix V u) <= v * norm u) ->
  law p -> law q -> (forall i, norm (x i) <= r) -> (forall j, norm (y j) <= r) ->
  W1 (fun i j => norm (minus (x i) (y j)) ^ 2) p q before ->
  W1 (fun i j => norm (minus (apply_matrix V (output B p x (x i))) (apply_matrix V (output B q y (y j)))) ^ 2) p q
    after ->
  (0 <= M -> (forall u, 0 <= u <= 1 -> (exp (2 * a) * (1 - u) + u) * (1 + 4 * a ^ 2 * u * (1 - u)) <= M ^ 2) ->
    after <= v ^ 2 * (a + M) ^ 2 * before) /\
  after <= v ^ 2 * (a + exp a * (1 + a)) ^ 2 * before.
Proof.
move=> a r0 b0 v0 hB hV hp hq hx hy hb ha; have a0 : 0 <= a := Rmult_le_pos _ _ b0 (pow2_ge_0 r).
have up s t : 0 <= s <= t -> 0 <= s ^ 2 <= t ^ 2.
  by move=> [s0 st]; split; [apply: pow2_ge_0 | apply: pow_incr].
have mult s t : 0 <= s -> 0 <= t -> (s * t) ^ 2 = s ^ 2 * t ^ 2 by move=> _ _; ring.
by split=> [M0 bound|]; apply: (scaled r0 v0 (pow2_ge_0 _) up mult _ hV hp hq hx hy hb ha) => x' y' before'
  after' B' hx' hy'
  hb' ha'; have [one two] := attention_W2 M a0 (fun u => norm_scaled r u hB) hp hq hx' hy' hb' ha'; [apply: one |].
Qed.

(* Twin: 1 + 2a, the constant of the largest displacement, does not serve in the mean square; a = 3, an atom of mass
   1/1000 far from the other and moved by 1/10.
   Twin of: attention_W2, attention_W2_scaled. *)
Theorem not_polynomial_square : ~ forall (K I : finType) (B : K -> K -> R) (w : I -> R) a (x y : I -> K -> R), law w ->
  0 <= a -> (forall u, norm (T B u) <= a * norm u) -> (forall i, norm (x i) <= 1) -> (forall i, norm (y i) <= 1) ->
  mean w (fun i => norm (minus (output B w x (x i)) (output B w y (y i))) ^ 2) <=
  (1 + 2 * a) ^ 2 * mean w (fun i => norm (minus (x i) (y i)) ^ 2).
Proof.
have he : 0 < / 1000 < 1 by lra.
have a0 : 0 <= 3 by lra.
pose at_ x := axis tt x; have near s b : 0 <= s < 1 -> norm (places (at_ 1) (at_ (-1)) s b) <= 1.
  move=> hs; apply: (places_ball Rlt_0_1) => //; first by rewrite /at_ axis_norm Rabs_R1; lra.
  by rewrite /dot sum_unit /at_ /axis /=; ring.
move=> h; have := h _ _ (line tt 3) (masses (/ 1000)) 3 (places (at_ 1) (at_ (-1)) 0) (places (at_ 1) (at_ (-1)) (/ 10))
  (masses_law he) a0 (fun u => line_norm tt u a0) (fun b => near 0 b ltac:(lra)) (fun b => near (/ 10) b ltac:(lra)).
have o s v : output (line tt 3) (masses (/ 1000)) (places (at_ 1) (at_ (-1)) s) v tt =
    1 + share (/ 1000) (s - 2) (3 * v tt * (2 - s)).
  rewrite /output /centre /seen mean_two // !form_line /places /at_ /axis /=; congr (_ + share _ _ _); ring.
rewrite /mean !sum_bool /masses !norm_unit /minus !o /places /at_ /axis /= => le.
have big : / 1000 < (share (/ 1000) (/ 10 - 2) (3 * 1 * (2 - / 10)) - share (/ 1000) (0 - 2) (3 * 1 * (2 - 0))) ^ 2.
  by rewrite /share; interval with (i_prec 40).
have sq u : Rabs u * (Rabs u * 1) = u ^ 2 by rewrite -(pow2_abs u); ring.
move: le; rewrite !sq; set far := (_ - _) ^ 2 in big; set light := (1 + share _ _ (3 * ((1 - 0) * -1) * _) - _) ^ 2.
have -> : (1 + share (/ 1000) (0 - 2) (3 * 1 * (2 - 0)) - (1 + share (/ 1000) (/ 10 - 2) (3 * 1 * (2 - / 10)))) ^ 2 =
    far.
  by rewrite /far; ring.
by have := pow2_ge_0 (1 + share (/ 1000) (0 - 2) (3 * ((1 - 0) * -1) * (2 - 0)) -
  (1 + share (/ 1000) (/ 10 - 2) (3 * ((1 - / 10) * -1) * (2 - / 10)))); rewrite -/light; lra.
Qed.
