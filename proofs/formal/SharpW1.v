(* Attention in W_1 on the unit ball: the constant e^(2a) (1 + 2a), for every a >= 0, in every dimension, for finitely
   supported laws. This file: the bound; that no smaller constant serves is in [Least], other radii and value matrices
   in [Scaling].

   Reader's checklist: the form is x^T B y = <T x, y>, where T = B^T has |T u| <= a |u|; values are the tokens, V = I,
   R = 1; tokens have masses and no mask; queries are the tokens themselves. The claim is about all laws on the ball;
   those of finite support are dense in W_1, and the passage to the limit is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Softmax Euclid Jacobian Tilt Transport Inequalities.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Form.
Variable K : finType.
Variable B : K -> K -> R.
Implicit Types u v : K -> R.

(* T u = B^T u. *)
Definition T u l := \sum_k (B k l * u k).
Definition form u v := dot (T u) v.

Lemma T_add u v c l : T (fun k => u k + c * v k) l = T u l + c * T v l.
Proof. by rewrite /T -sumZ -sumD; apply: sum_ext => k; ring. Qed.

(* The mean of the atoms, the law seen by a query x, and its output. *)
Section Cloud.
Variables (I : finType) (w : I -> R).
Implicit Types z : I -> K -> R.
Definition centre (p : I -> R) z k := mean p (fun j => z j k).
Definition seen z x := tilt w (fun j => form x (z j)).
Definition output z x := centre (seen z x) z.
End Cloud.
End Form.

(* The weights are a law, and the output is a quotient of sums. *)
Lemma seen_law (K I : finType) (B : K -> K -> R) (w : I -> R) z x : law w -> law (seen B w z x).
Proof. by move=> hw; apply: tilt_law. Qed.

Lemma output_quotient (K I : finType) (B : K -> K -> R) (w : I -> R) (z : I -> K -> R) x k :
  let score y := \sum_i \sum_j (x i * B i j * y j) in
  output B w z x k = (\sum_j (w j * exp (score (z j)) * z j k)) / (\sum_j (w j * exp (score (z j)))).
Proof.
move=> score; have e j : form B x (z j) = score (z j).
  rewrite /form /dot /T /score sum_exchange; apply: sum_ext => l; rewrite -sumZr; apply: sum_ext => m; ring.
rewrite /output /centre /seen /mean /tilt /density /mass /mean /Rdiv -sumZr.
have -> : \sum_j (w j * exp (form B x (z j))) = \sum_j (w j * exp (score (z j))) by apply: sum_ext => j; rewrite e.
by apply: sum_ext => j; rewrite e; ring.
Qed.

Section Static.
Variables (K I : finType) (B : K -> K -> R) (w : I -> R) (a : R) (z : I -> K -> R).
Hypothesis hw : law w.
Hypothesis a0 : 0 <= a.
Hypothesis hB : forall u, norm (T B u) <= a * norm u.
Hypothesis ball : forall i, norm (z i) <= 1.
Implicit Types (e u : K -> R) (i j : I).

Let m := centre w z.
Let t := 1 - norm m.
Definition minus u v : K -> R := fun k => u k - v k.

Lemma dot_centre p u : dot u (centre p z) = mean p (fun j => dot u (z j)).
Proof. by rewrite dotC dot_mean; apply: mean_ext => j; rewrite dotC. Qed.

Lemma centre_ball p : law p -> norm (centre p z) <= 1.
Proof.
move=> hp; apply: norm_le; first by lra.
rewrite dot_centre -[X in _ <= X](mean_const _ hp); apply: mean_le => // j.
have := cauchy_schwarz (centre p z) (z j); have := ball j; have := norm_ge0 (centre p z); have := norm_ge0 (z j); nra.
Qed.

Lemma t_range : 0 <= t <= 1.
Proof. by have := centre_ball hw; have := norm_ge0 m; rewrite /t -/m; lra. Qed.

Lemma norm_minus u v : norm (minus u v) <= norm u + norm v.
Proof.
have -> : norm (minus u v) = norm (fun k => u k + (-1) * v k) by apply: norm_ext => k; rewrite /minus; ring.
apply: (Rle_trans _ _ _ (norm_triangle _ _)); right; congr (_ + _).
by rewrite /norm; congr sqrt; apply: sum_ext => k; ring.
Qed.

Lemma from_centre j : norm (minus (z j) m) <= 2 - t.
Proof. by apply: Rle_trans (norm_minus _ _) _; have := ball j; rewrite /t; lra. Qed.

(* mu(|z - m|^2) <= t (2 - t). *)
Lemma spread : mean w (fun j => dot (minus (z j) m) (minus (z j) m)) <= t * (2 - t).
Proof.
have -> : mean w (fun j => dot (minus (z j) m) (minus (z j) m)) = mean w (fun j => dot (z j) (z j)) - dot m m.
  have -> : mean w (fun j => dot (minus (z j) m) (minus (z j) m)) =
      mean w (fun j => dot (z j) (z j) + (-2 * dot m (z j) + dot m m)).
    by apply: mean_ext => j; rewrite /minus dotBl !dotBr (dotC (z j) m); ring.
  by rewrite meanD meanD meanZ (mean_const _ hw) -dot_centre -/m; ring.
have : mean w (fun j => dot (z j) (z j)) <= 1.
  rewrite -[X in _ <= X](mean_const _ hw); apply: mean_le => // j; rewrite -norm_sq.
  by have := ball j; have := norm_ge0 (z j); nra.
by rewrite -norm_sq /t; lra.
Qed.

(* Variances of a coordinate e: at most |e|^2, and at most |e|^2 e^c t (2 - t) under a law of density at most e^c. *)
Lemma dot_sq u v : dot u v ^ 2 <= dot u u * dot v v.
Proof.
have := cauchy_schwarz u v; have := cauchy_schwarz (fun k => -1 * u k) v; rewrite dotZl.
have -> : norm (fun k => -1 * u k) = norm u by rewrite /norm; congr sqrt; apply: sum_ext => k; ring.
rewrite -(norm_sq u) -(norm_sq v) => h1 h2.
have : 0 <= (norm u * norm v - dot u v) * (norm u * norm v + dot u v) by apply: Rmult_le_pos; lra.
by lra.
Qed.

Lemma variance_one p e : law p -> variance p (fun j => dot e (z j)) <= dot e e.
Proof.
move=> hp; have := second_moment (fun j => dot e (z j)) 0 hp; have := pow2_ge_0 (mean p (fun j => dot e (z j)) - 0).
suff : mean p (fun j => (dot e (z j) - 0) ^ 2) <= dot e e by lra.
rewrite -[X in _ <= X](mean_const _ hp); apply: mean_le => // j; rewrite Rminus_0_r.
apply: (Rle_trans _ _ _ (dot_sq _ _)); rewrite -[X in _ <= X]Rmult_1_r; apply: Rmult_le_compat_l; first exact: dot_ge0.
by rewrite -norm_sq; have := ball j; have := norm_ge0 (z j); nra.
Qed.

Lemma variance_spread s c e : (forall j, s j - mean w s <= c) ->
  variance (tilt w s) (fun j => dot e (z j)) <= dot e e * (exp c * (t * (2 - t))).
Proof.
move=> hc; apply: (Rle_trans _ _ _ (tilt_variance hw (fun j => dot e (z j)) (dot e m) hc)).
have -> : dot e e * (exp c * (t * (2 - t))) = exp c * (dot e e * (t * (2 - t))) by ring.
apply: Rmult_le_compat_l; first by left; apply: exp_pos.
apply: (Rle_trans _ (dot e e * mean w (fun j => dot (minus (z j) m) (minus (z j) m)))); last first.
  by apply: Rmult_le_compat_l; [apply: dot_ge0 | apply: spread].
rewrite -meanZ; apply: mean_le => // j; rewrite -dotBr; exact: dot_sq.
Qed.

(* The scores seen by a query in the ball, less their mean, are at most a (2 - t). *)
Lemma score_le x j : norm x <= 1 -> form B x (z j) - mean w (fun j => form B x (z j)) <= a * (2 - t).
Proof.
move=> hx; rewrite /form -dot_centre -/m -dotBr.
apply: (Rle_trans _ _ _ (cauchy_schwarz _ _)); apply: Rmult_le_compat; try exact: norm_ge0; last exact: from_centre.
by have := hB x; nra.
Qed.

(* Column sums of the attention: the mass that lands at y, per unit there. *)
Lemma column_jensen j : mean w (fun i => density w (fun l => form B (z i) (z l)) j) <= exp (a * (2 - t)).
Proof.
rewrite -[X in _ <= X](mean_const _ hw); apply: mean_le => // i.
by apply: (Rle_trans _ _ _ (density_le hw _ _)); apply: exp_le; apply: score_le.
Qed.

(* The chord of the exponential on [-c, c]. *)
Lemma chord (c u : R) : - c <= u <= c -> c * exp u <= c * cosh c + u * sinh c.
Proof.
move=> hu; have slope x y : exp x * (1 + (y - x)) <= exp y.
  have -> : exp y = exp x * exp (y - x) by rewrite -exp_plus; congr exp; ring.
  by apply: Rmult_le_compat_l; [left; apply: exp_pos | apply: exp_ineq1_le].
have h1 := slope u c; have h2 := slope u (- c).
have g1 : (c + u) * (exp u * (1 + (c - u))) <= (c + u) * exp c by apply: Rmult_le_compat_l => //; lra.
have g2 : (c - u) * (exp u * (1 + (- c - u))) <= (c - u) * exp (- c) by apply: Rmult_le_compat_l => //; lra.
by rewrite /cosh /sinh; lra.
Qed.

Lemma column_chord j : mean w (fun i => density w (fun l => form B (z i) (z l)) j) <= exp (a * (2 - t)) -
  t * sinh (a * (2 - t)).
Proof.
set c := a * (2 - t); have tr := t_range; have c0 : 0 <= c by apply: Rmult_le_pos; lra.
have fT x y : form B x y <= a * (norm x * norm y).
  apply: (Rle_trans _ _ _ (cauchy_schwarz _ _)); rewrite -Rmult_assoc; apply: Rmult_le_compat_r; first exact: norm_ge0.
  exact: hB.
pose y := minus (z j) m; have hy : norm y <= 2 - t := from_centre j.
pose u i := form B (z i) y.
have big x : norm x <= 1 -> form B x y <= c.
  move=> hx; apply: (Rle_trans _ _ _ (fT x y)); apply: Rmult_le_compat_l => //.
  by have := norm_ge0 x; have := norm_ge0 y; nra.
have hu i : - c <= u i <= c.
  split; last exact: big (ball i).
  have <- : - form B (fun k => -1 * z i k) y = u i.
    have -> : form B (fun k => -1 * z i k) y = -1 * u i; last by ring.
    by rewrite /u /form -dotZl; apply: dot_ext => // l; rewrite /T -sumZ; apply: sum_ext => k; ring.
  suff : form B (fun k => -1 * z i k) y <= c by lra.
  apply: big; apply: Rle_trans (ball i); right.
  by rewrite /norm; congr sqrt; apply: sum_ext => k; ring.
have mu : mean w u <= (1 - t) * c.
  have -> : mean w u = form B m y.
    rewrite /u /form /m /centre.
    have e l : T B (fun k => mean w (fun i => z i k)) l = mean w (fun i => T B (z i) l).
      rewrite /T /mean; have -> : \sum_k (B k l * (\sum_i (w i * z i k))) = \sum_k \sum_i (w i * (B k l * z i k)).
        by apply: sum_ext => k; rewrite -sumZ; apply: sum_ext => i; ring.
      by rewrite sum_exchange; apply: sum_ext => i; rewrite sumZ.
    by rewrite (dot_ext e (fun _ => erefl)) dot_mean.
  apply: (Rle_trans _ _ _ (fT m y)).
  have -> : (1 - t) * c = a * (norm m * (2 - t)) by rewrite /c /t; ring.
  apply: Rmult_le_compat_l => //; apply: Rmult_le_compat_l => //; exact: norm_ge0.
have main : mean w (fun i => density w (fun l => form B (z i) (z l)) j) <= mean w (fun i => exp (u i)).
  apply: mean_le => // i; apply: (Rle_trans _ _ _ (density_le hw _ _)); right; congr exp.
  by rewrite /u /form -dot_centre -/m -dotBr.
apply: (Rle_trans _ _ _ main).
have sh : 0 <= sinh c by have := sinh_ge c c0; lra.
case: c0 => [c0|c0]; last first.
  have -> : mean w (fun i => exp (u i)) = mean w (fun=> 1).
    apply: mean_ext => i; have -> : u i = 0 by have := hu i; lra.
    exact: exp_0.
  by rewrite (mean_const _ hw) -c0 sinh_0 exp_0; lra.
apply: (Rmult_le_reg_l c) => //.
have : mean w (fun i => c * exp (u i)) <= mean w (fun i => c * cosh c + sinh c * u i).
  by apply: mean_le => // i; have := chord (hu i); lra.
rewrite meanZ meanD (mean_const _ hw) meanZ => h.
have : sinh c * mean w u <= sinh c * ((1 - t) * c) by apply: Rmult_le_compat_l.
have -> : exp c = cosh c + sinh c by rewrite /cosh /sinh; field.
by lra.
Qed.

(* The mean seen by a query in the ball is near the centre: |m_x - m| <= t (2 - t) (e^(2a) - 1) / 2. *)
Lemma output_near x : norm x <= 1 -> norm (minus (centre (seen B w z x) z) m) <= (E a - 1) / 2 * (t * (2 - t)).
Proof.
move=> hx; have tr := t_range; set d := minus _ _.
have E1 : 1 <= E a by rewrite /E; have := exp_ineq1_le (2 * a); lra.
have V0 : 0 <= t * (2 - t) by nra.
apply: norm_le; first by apply: Rmult_le_pos => //; lra.
pose s r j := r * form B x (z j); pose f j := dot d (z j).
have df j r : is_derive (fun _ : R => f j) r 0 by apply: is_derive_const.
have ds j r : is_derive (fun r => s r j) r (form B x (z j)) by rewrite /s; auto_derive => //; ring.
have der r := tilt_derivative hw (a := s) (f := fun _ => f) (fun j => ds j r) (fun j => df j r).
pose g r := mean (tilt w (s r)) f - norm d * (t * (2 - t)) * exp (2 * a * r) / 2.
pose g' r := mean (tilt w (s r)) (fun=> 0) +
  mean (tilt w (s r)) (fun j => form B x (z j) * (f j - mean (tilt w (s r)) f))
  - norm d * (t * (2 - t)) * (a * exp (2 * a * r)).
have dg r : is_derive g r (g' r).
  apply: is_derive_minus; first exact: der.
  by auto_derive => //; field.
have neg r : 0 <= r -> g' r <= 0.
  move=> r0; have hp := tilt_law hw (s r); rewrite /g' (mean_const _ hp); set p := tilt w (s r) in hp *.
  set sc := fun j => form B x (z j).
  have -> : mean p (fun j => sc j * (f j - mean p f)) = mean p (fun j => (sc j - mean p sc) * (f j - mean p f)).
    have -> : mean p (fun j => (sc j - mean p sc) * (f j - mean p f)) =
        mean p (fun j => sc j * (f j - mean p f) + (- mean p sc * f j + mean p sc * mean p f)).
      by apply: mean_ext => j; ring.
    by rewrite meanD meanD meanZ (mean_const (mean p sc * mean p f) hp); ring.
  have hs j : s r j - mean w (s r) <= 2 * a * r.
    have -> : s r j - mean w (s r) = r * (form B x (z j) - mean w (fun j => form B x (z j))) by rewrite /s meanZ; ring.
    have := score_le j hx => le; apply: (Rle_trans _ (r * (a * (2 - t)))); first exact: Rmult_le_compat_l.
    by have := Rmult_le_pos _ _ a0 r0; nra.
  have vf : variance p f <= dot d d * (exp (2 * a * r) * (t * (2 - t))) := variance_spread d hs.
  have vs : variance p sc <= dot (T B x) (T B x) * (exp (2 * a * r) * (t * (2 - t))) := variance_spread (T B x) hs.
  have cs := covariance_le f sc hp; set cv := mean p _ in cs *.
  set X := exp (2 * a * r) * (t * (2 - t)) in vf vs.
  have X0 : 0 <= X by apply: Rmult_le_pos => //; left; apply: exp_pos.
  have nT := hB x; have d0 := norm_ge0 d; have T0 := norm_ge0 (T B x).
  suff : cv <= a * norm d * X by rewrite /X; lra.
  apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos => //; apply: Rmult_le_pos.
  have -> : Rsqr cv = cv ^ 2 by rewrite /Rsqr; ring.
  apply: (Rle_trans _ _ _ cs).
  have vs' : variance p sc <= a * a * X.
    apply: (Rle_trans _ _ _ vs); apply: Rmult_le_compat_r => //; rewrite -norm_sq; apply: Rmult_le_compat => //; nra.
  have -> : Rsqr (a * norm d * X) = (a * a * X) * (dot d d * X) by rewrite /Rsqr -norm_sq; ring.
  by apply: Rmult_le_compat => //; apply: variance_ge0.
case: (MVT_gen g 0 1 g') => [r _|r _|r [hr e]]; first exact: dg.
  by apply: derivable_continuous_pt; exists (g' r); apply/is_derive_Reals; exact: dg.
rewrite Rmin_left in hr; last by lra.
have : g 1 <= g 0 by have := neg r (proj1 hr); lra.
rewrite /g; have -> : mean (tilt w (s 1)) f = dot d (centre (seen B w z x) z).
  rewrite dot_centre /seen /tilt /density /mass /s; apply: sum_ext => j; congr (_ * _ * _).
  congr (_ / _); first by congr exp; ring.
  by apply: mean_ext => l; congr exp; ring.
have -> : mean (tilt w (s 0)) f = dot d m.
  rewrite dot_centre; apply: sum_ext => j; congr (_ * _); rewrite /tilt /density /mass /s.
  have -> : mean w (fun l => exp (0 * form B x (z l))) = 1.
    rewrite -[RHS](mean_const _ hw); apply: mean_ext => l.
    have -> : 0 * form B x (z l) = 0 by ring.
    exact: exp_0.
  have -> : 0 * form B x (z j) = 0 by ring.
  by rewrite exp_0; field.
have -> : dot d d = dot d (centre (seen B w z x) z) - dot d m by rewrite -dotBr.
by rewrite Rmult_1_r Rmult_0_r exp_0 -/(E a); lra.
Qed.

(* What it costs to displace the atoms by h, at least as seen through test vectors u_i in the ball. *)
Variables h u : I -> K -> R.
Hypothesis hu : forall i, norm (u i) <= 1.

Let P i := seen B w z (z i).
Definition speed i := mean (P i) (fun j => dot (u i) (h j)) +
  mean (P i) (fun j => (form B (h i) (z j) +
    form B (z i) (h j)) * (dot (u i) (z j) - mean (P i) (fun j => dot (u i) (z j)))).

Lemma P_law i : law (P i). Proof. exact: tilt_law. Qed.

(* The term of the query: a covariance. *)
Lemma query_term i v : 0 <= v -> (forall e, variance (P i) (fun j => dot e (z j)) <= dot e e * v) ->
  mean (P i) (fun j => form B (h i) (z j) * (dot (u i) (z j) -
    mean (P i) (fun j => dot (u i) (z j)))) <= a * v * norm (h i).
Proof.
move=> v0 hv; have hp := P_law i; set f := fun j => dot (u i) (z j); set sc := fun j => form B (h i) (z j).
have -> : mean (P i) (fun j => sc j * (f j - mean (P i) f)) =
  mean (P i) (fun j => (sc j - mean (P i) sc) * (f j - mean (P i) f)).
  have -> : mean (P i) (fun j => (sc j - mean (P i) sc) * (f j - mean (P i) f)) =
      mean (P i) (fun j => sc j * (f j - mean (P i) f) + (- mean (P i) sc * f j + mean (P i) sc * mean (P i) f)).
    by apply: mean_ext => j; ring.
  by rewrite meanD meanD meanZ (mean_const (mean (P i) sc * mean (P i) f) hp); ring.
have cs := covariance_le f sc hp; have vf : variance (P i) f <= dot (u i) (u i) * v := hv (u i).
have vs : variance (P i) sc <= dot (T B (h i)) (T B (h i)) * v := hv (T B (h i)).
have n0 := norm_ge0 (h i); apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos => //; apply: Rmult_le_pos.
set cv := mean _ _ in cs *; have -> : Rsqr cv = cv ^ 2 by rewrite /Rsqr; ring.
apply: (Rle_trans _ _ _ cs); have -> : Rsqr (a * v * norm (h i)) = (a * norm (h i)) * (a * norm (h i)) * v * (1 * v).
  by rewrite /Rsqr; ring.
have nT := hB (h i); have T0 := norm_ge0 (T B (h i)); have u0 := norm_ge0 (u i); have u1 := hu i.
apply: Rmult_le_compat; [exact: variance_ge0 | exact: variance_ge0 | |].
  by apply: (Rle_trans _ _ _ vs); apply: Rmult_le_compat_r => //; rewrite -norm_sq; apply: Rmult_le_compat.
by apply: (Rle_trans _ _ _ vf); apply: Rmult_le_compat_r => //; rewrite -norm_sq; nra.
Qed.

(* The terms of the atoms, where they are at most A from what is seen. *)
Lemma atom_terms i A : (forall j, norm (minus (z j) (centre (P i) z)) <= A) ->
  mean (P i) (fun j => dot (u i) (h j)) +
  mean (P i) (fun j => form B (z i) (h j) * (dot (u i) (z j) - mean (P i) (fun j => dot (u i) (z j))))
  <= mean (P i) (fun j => (1 + a * A) * norm (h j)).
Proof.
move=> hA; rewrite -meanD; apply: mean_le => [|j]; first exact: P_law.
have n0 := norm_ge0 (h j); have u0 := norm_ge0 (u i); have u1 := hu i; have A1 := hA j.
have d1 : dot (u i) (h j) <= norm (h j) by apply: (Rle_trans _ _ _ (cauchy_schwarz _ _)); nra.
rewrite -dot_centre -dotBr -/(minus (z j) (centre (P i) z)).
have abs (x y : K -> R) : Rabs (dot x y) <= norm x * norm y.
  apply: Rabs_le; split; last exact: cauchy_schwarz.
  have := cauchy_schwarz (fun k => -1 * x k) y; rewrite dotZl.
  have -> : norm (fun k => -1 * x k) = norm x by rewrite /norm; congr sqrt; apply: sum_ext => k; ring.
  by lra.
suff : form B (z i) (h j) * dot (u i) (minus (z j) (centre (P i) z)) <= a * norm (h j) * A by lra.
apply: (Rle_trans _ _ _ (Rle_abs _)); rewrite Rabs_mult.
have A0 := norm_ge0 (minus (z j) (centre (P i) z)).
apply: Rmult_le_compat; try exact: Rabs_pos.
  apply: (Rle_trans _ _ _ (abs (T B (z i)) (h j))); apply: Rmult_le_compat_r => //.
  by apply: (Rle_trans _ _ _ (hB (z i))); have := ball i; have := norm_ge0 (z i); nra.
by apply: (Rle_trans _ _ _ (abs (u i) _)); nra.
Qed.

(* Both, and columns of mass at most S. *)
Lemma speed_le A S v : 0 <= v -> 0 <= A ->
  (forall i e, variance (P i) (fun j => dot e (z j)) <= dot e e * v) ->
  (forall i j, norm (minus (z j) (centre (P i) z)) <= A) ->
  (forall j, mean w (fun i => density w (fun l => form B (z i) (z l)) j) <= S) ->
  mean w speed <= ((1 + a * A) * S + a * v) * mean w (fun j => norm (h j)).
Proof.
move=> v0 A0 hv hA hS.
have row i : speed i <= (1 + a * A) * mean (P i) (fun j => norm (h j)) + a * v * norm (h i).
  have := query_term v0 (hv i); have := atom_terms (hA i); rewrite meanZ /speed; set f := fun j => dot (u i) (z j).
  have -> : mean (P i) (fun j => (form B (h i) (z j) + form B (z i) (h j)) * (dot (u i) (z j) - mean (P i) f)) =
      mean (P i) (fun j => form B (h i) (z j) * (dot (u i) (z j) - mean (P i) f)) +
      mean (P i) (fun j => form B (z i) (h j) * (dot (u i) (z j) - mean (P i) f)).
    by rewrite -meanD; apply: mean_ext => j; ring.
  by lra.
apply: (Rle_trans _ _ _ (mean_le hw row)); rewrite meanD !meanZ.
suff k : mean w (fun i => mean (P i) (fun j => norm (h j))) <= S * mean w (fun j => norm (h j)).
  have c0 : 0 <= 1 + a * A by have := Rmult_le_pos _ _ a0 A0; lra.
  by have := Rmult_le_compat_l _ _ _ c0 k; lra.
have -> : mean w (fun i => mean (P i) (fun j => norm (h j))) =
    \sum_j (w j * norm (h j) * mean w (fun i => density w (fun l => form B (z i) (z l)) j)).
  have -> : mean w (fun i => mean (P i) (fun j => norm (h j))) =
      \sum_i \sum_j (w j * norm (h j) * (w i * density w (fun l => form B (z i) (z l)) j)).
    by rewrite /mean; apply: sum_ext => i; rewrite -sumZ; apply: sum_ext => j; rewrite /P /seen /tilt; ring.
  by rewrite sum_exchange; apply: sum_ext => j; rewrite sumZ.
rewrite /mean -sumZ; apply: sum_le => j; rewrite -Rmult_assoc (Rmult_comm S) -/(mean _ _).
have -> : w j * S * norm (h j) = w j * norm (h j) * S by ring.
by apply: Rmult_le_compat_l; [apply: Rmult_le_pos; [apply: (proj1 hw) | apply: norm_ge0] | apply: hS].
Qed.

(* The constant: small forms and large ones. *)
Lemma speed_sharp : mean w speed <= E a * (1 + 2 * a) * mean w (fun j => norm (h j)).
Proof.
have tr := t_range; have V0 : 0 <= t * (2 - t) by nra.
have H0 : 0 <= mean w (fun j => norm (h j)).
  by apply: sum_ge0 => j; apply: Rmult_le_pos; [apply: (proj1 hw) | apply: norm_ge0].
have E1 : 1 <= E a by rewrite /E; have := exp_ineq1_le (2 * a); lra.
have var i e : variance (P i) (fun j => dot e (z j)) <= dot e e * (E a * (t * (2 - t))).
  apply: variance_spread => j; apply: (Rle_trans _ _ _ (score_le j (ball i))).
  by have := Rmult_le_pos _ _ a0 (proj1 tr); lra.
case: (Rle_dec (6 / 10) a) => [large|small].
  apply: (Rle_trans _ (((1 + a * 2) * exp (a * (2 - t)) +
    a * Rmin 1 (E a * (t * (2 - t)))) * mean w (fun j => norm (h j)))).
    apply: speed_le; [|lra| | |exact: column_jensen].
    - by apply: Rmin_glb; [lra | apply: Rmult_le_pos; lra].
    - move=> i e; rewrite /Rmin; case: Rle_dec => _; last exact: var.
      by rewrite Rmult_1_r; apply: variance_one; apply: P_law.
    - move=> i j; apply: (Rle_trans _ _ _ (norm_minus _ _)); have := ball j; have := centre_ball (P_law i); lra.
  by apply: Rmult_le_compat_r => //; apply: cost_large.
apply: (Rle_trans _ (((1 + a * (2 - t + (E a - 1) / 2 * (t * (2 - t)))) * (exp (a * (2 - t)) - t * sinh (a * (2 - t))) +
    a * (E a * (t * (2 - t)))) * mean w (fun j => norm (h j)))); last first.
  by apply: Rmult_le_compat_r => //; apply: cost_small; lra.
apply: speed_le; [by apply: Rmult_le_pos; lra| |exact: var| |exact: column_chord].
  have k : 0 <= (E a - 1) / 2 * (t * (2 - t)) by apply: Rmult_le_pos; lra.
  by lra.
move=> i j; have near := output_near (ball i).
have -> : norm (minus (z j) (centre (P i) z)) = norm (minus (minus (z j) m) (minus (centre (P i) z) m)).
  by apply: norm_ext => k; rewrite /minus; ring.
apply: (Rle_trans _ _ _ (norm_minus _ _)); have := from_centre j; rewrite -/(P i) in near; lra.
Qed.
End Static.

(* The atoms move along segments. *)
Section Path.
Variables (K I : finType) (B : K -> K -> R) (w : I -> R) (x y : I -> K -> R).
Hypothesis hw : law w.
Hypothesis bx : forall i, norm (x i) <= 1.
Hypothesis bz : forall i, norm (y i) <= 1.

Let h i := minus (y i) (x i).
Let z r i : K -> R := fun k => x i k + r * h i k.

Lemma z_ball r i : 0 <= r <= 1 -> norm (z r i) <= 1.
Proof.
move=> hr; apply: norm_le; first by lra.
have -> : dot (z r i) (z r i) = (1 - r) * dot (x i) (z r i) + r * dot (y i) (z r i).
  by rewrite -!dotZl -dotDl; apply: dot_ext => // k; rewrite /z /h /minus; ring.
have c1 := cauchy_schwarz (x i) (z r i); have c2 := cauchy_schwarz (y i) (z r i); have n0 := norm_ge0 (z r i).
have l1 : dot (x i) (z r i) <= norm (z r i) by have := bx i; have := norm_ge0 (x i); nra.
have l2 : dot (y i) (z r i) <= norm (z r i) by have := bz i; have := norm_ge0 (y i); nra.
by nra.
Qed.

Lemma form_affine u v u' v' c : form B (fun k => u k + c * v k) (fun k => u' k + c * v' k) =
  form B u u' + c * (form B v u' + form B u v') + c ^ 2 * form B v v'.
Proof.
rewrite /form (dot_ext (fun l => T_add B u v c l) (fun _ => erefl)) /dot.
by rewrite -sumD -!sumZ -!sumD; apply: sum_ext => l; ring.
Qed.

Variable u : I -> K -> R.
Hypothesis hu : forall i, norm (u i) <= 1.

Let phi r := mean w (fun i => mean (seen B w (z r) (z r i)) (fun j => dot (u i) (z r j))).

Lemma token_derivative r i :
  is_derive (fun r => mean (seen B w (z r) (z r i)) (fun j => dot (u i) (z r j))) r (speed B w (z r) h u i).
Proof.
apply: (tilt_derivative hw (a := fun r j => form B (z r i) (z r j)) (f := fun r j => dot (u i) (z r j))) => j.
  apply: (is_derive_ext (fun r => form B (x i) (x j) + r * (form B (h i) (x j) + form B (x i) (h j)) +
    r ^ 2 * form B (h i) (h j))).
    by move=> t; rewrite /z form_affine.
  have -> : form B (h i) (z r j) + form B (z r i) (h j) =
      form B (h i) (x j) + form B (x i) (h j) + 2 * r * form B (h i) (h j).
    rewrite /form /z (dot_ext (fun l => T_add B (x i) (h i) r l) (fun _ => erefl)) dotDl dotZl.
    by rewrite (dotC _ (fun k => x j k + r * h j k)) dotDl dotZl (dotC (x j)) (dotC (h j)); ring.
  by auto_derive => //; ring.
apply: (is_derive_ext (fun r => dot (u i) (x j) + r * dot (u i) (h j))).
  by move=> t; rewrite /z !(dotC (u i)) dotDl dotZl.
by auto_derive => //; ring.
Qed.

Lemma phi_derivative r : is_derive phi r (mean w (speed B w (z r) h u)).
Proof. by apply: is_derive_sum => i; apply: is_derive_scal; apply: token_derivative. Qed.

Lemma phi_le C : (forall r, 0 <= r <= 1 -> mean w (speed B w (z r) h u) <= C * mean w (fun j => norm (h j))) ->
  phi 1 - phi 0 <= C * mean w (fun j => norm (h j)).
Proof.
move=> hC; case: (MVT_gen phi 0 1 (fun r => mean w (speed B w (z r) h u))) => [r _|r _|r [hr e]].
- exact: phi_derivative.
- by apply: derivable_continuous_pt; exists (mean w (speed B w (z r) h u)); apply/is_derive_Reals;
    exact: phi_derivative.
rewrite Rmin_left in hr; last by lra.
rewrite Rmax_right in hr; last by lra.
have := hC r hr; rewrite e; lra.
Qed.

Lemma phi_ends : phi 1 - phi 0 = mean w (fun i => dot (u i) (minus (output B w y (y i)) (output B w x (x i)))).
Proof.
have z0 : z 0 = x by apply: functional_extensionality => i; apply: functional_extensionality => k; rewrite /z; ring.
have z1 : z 1 = y by apply: functional_extensionality => i; apply: functional_extensionality => k;
  rewrite /z /h /minus; ring.
rewrite /phi z0 z1.
have -> : mean w (fun i => dot (u i) (minus (output B w y (y i)) (output B w x (x i)))) =
    mean w (fun i => dot (u i) (output B w y (y i)) + -1 * dot (u i) (output B w x (x i))).
  by apply: mean_ext => i; rewrite /minus dotBr; ring.
rewrite meanD meanZ /output.
have e v : mean w (fun i => dot (u i) (centre (seen B w v (v i)) v)) =
  mean w (fun i => mean (seen B w v (v i)) (fun j => dot (u i) (v j))).
  by apply: mean_ext => i; rewrite dot_centre.
by rewrite !e; ring.
Qed.
End Path.

(* The same atoms moved: a bound of all speeds is one of the outputs' moves. *)
Lemma moved_by (K I : finType) (B : K -> K -> R) (w : I -> R) C (x y : I -> K -> R) : law w ->
  (forall z h u, (forall i, norm (z i) <= 1) -> (forall i, norm (u i) <= 1) ->
    mean w (speed B w z h u) <= C * mean w (fun j => norm (h j))) ->
  (forall i, norm (x i) <= 1) -> (forall i, norm (y i) <= 1) ->
  mean w (fun i => norm (minus (output B w x (x i)) (output B w y (y i)))) <=
  C * mean w (fun i => norm (minus (x i) (y i))).
Proof.
move=> hw hC bx hy.
pose d i := minus (output B w y (y i)) (output B w x (x i)).
have sym (u v : K -> R) : norm (minus u v) = norm (minus v u).
  by rewrite /norm; congr sqrt; apply: sum_ext => k; rewrite /minus; ring.
pose u i k := / norm (d i) * d i k.
have dd i : norm (d i) = 0 \/ 0 < norm (d i) by case: (norm_ge0 (d i)); [right | left].
have du i : dot (u i) (d i) = norm (d i).
  rewrite /u dotZl -norm_sq; case: (dd i) => [->|p]; [ring | field; lra].
have hu i : norm (u i) <= 1.
  apply: norm_le; first by lra.
  rewrite {1}/u dotZl (dotC (d i)) du Rmult_1_l; case: (dd i) => [->|p]; first by rewrite Rmult_0_r; apply: norm_ge0.
  rewrite Rinv_l; last by lra.
  by right; rewrite /norm -/(norm _); symmetry; apply: (Rsqr_inj _ _ (sqrt_pos _)); [lra|]; rewrite /Rsqr sqrt_sqrt;
    [rewrite {1}/u dotZl (dotC (d i)) du; field; lra | apply: dot_ge0].
have := phi_le hw (fun r hr => hC _ _ u (fun i => z_ball bx hy i hr) hu); rewrite phi_ends -/d.
have -> : mean w (fun i => dot (u i) (minus (output B w y (y i)) (output B w x (x i)))) =
    mean w (fun i => norm (minus (output B w x (x i)) (output B w y (y i)))).
  by apply: mean_ext => i; rewrite -/(d i) du sym.
by have -> : mean w (fun i => norm (minus (x i) (y i))) =
  mean w (fun j => norm (minus (y j) (x j))) by apply: mean_ext => i; apply: sym.
Qed.

(* Means over pairs of what depends on one of them. *)
Section Pairs.
Variables (I J : finType) (p : I -> R) (q : J -> R) (g : I -> J -> R).
Hypothesis hg : coupling p q g.
Let gg (ij : I * J) := g ij.1 ij.2.

Lemma mean_pairs (f : I -> J -> R) : mean gg (fun ij => f ij.1 ij.2) = cost f g.
Proof. by rewrite /cost pair_bigA. Qed.

Lemma mean_first f : mean gg (fun ij => f ij.1) = mean p f.
Proof. by rewrite (mean_pairs (fun i _ => f i)); apply: sum_ext => i; rewrite sumZr (proj1 (proj2 hg)). Qed.

Lemma mean_second f : mean gg (fun ij => f ij.2) = mean q f.
Proof.
by rewrite (mean_pairs (fun _ j => f j)) /cost sum_exchange; apply: sum_ext => j; rewrite sumZr (proj2 (proj2 hg)).
Qed.

Lemma pairs_law : law p -> law gg.
Proof.
move=> [_ sp]; split=> [ij|]; first exact: (proj1 hg).
have := mean_first (fun=> 1); rewrite /mean !sumZr sp => e; lra.
Qed.
End Pairs.

(* Pairs carry the same output as one of the clouds. *)
Lemma output_pairs (K L I : finType) (B : K -> K -> R) (w : L -> R) (p : I -> R) (pr : L -> I) (x : I -> K -> R) v :
  (forall f, mean w (fun l => f (pr l)) = mean p f) -> output B w (fun l => x (pr l)) v = output B p x v.
Proof.
move=> h; apply: functional_extensionality => k; rewrite /output /centre /seen.
have e (s : I -> R) (f : I -> R) : mean (tilt w (fun l => s (pr l))) (fun l => f (pr l)) = mean (tilt p s) f.
  have -> : mean (tilt w (fun l => s (pr l))) (fun l => f (pr l)) =
    mean w (fun l => exp (s (pr l)) / mass p s * f (pr l)).
    apply: sum_ext => l; rewrite /tilt /density {1}/mass (h (fun i => exp (s i))) -/(mass p s); ring.
  by rewrite (h (fun i => exp (s i) / mass p s * f i)); apply: sum_ext => i; rewrite /tilt /density; ring.
exact: (e (fun i => form B v (x i)) (fun i => x i k)).
Qed.

(* What serves for atoms that are moved, serves for laws: atoms are paired as a coupling has them. *)
Lemma W1_moved (K I J : finType) (B : K -> K -> R) (D : (K -> R) -> (K -> R) -> R) C (p : I -> R) (q : J -> R)
  (x : I -> K -> R) (y : J -> K -> R) before after : 0 < C ->
  (forall (L : finType) (w : L -> R) (x y : L -> K -> R), law w -> (forall i, norm (x i) <= 1) ->
    (forall i, norm (y i) <= 1) ->
    mean w (fun i => D (output B w x (x i)) (output B w y (y i))) <= C * mean w (fun i => D (x i) (y i))) ->
  law p -> (forall i, norm (x i) <= 1) -> (forall j, norm (y j) <= 1) ->
  W1 (fun i j => D (x i) (y j)) p q before ->
  W1 (fun i j => D (output B p x (x i)) (output B q y (y j))) p q after -> after <= C * before.
Proof.
move=> C0 hC hp hx hy [_ greatest] [lower _].
suff : after / C <= before.
  by move=> k; have := Rmult_le_compat_l C _ _ (Rlt_le _ _ C0) k; have -> : C * (after / C) = after by field; lra.
apply: greatest => g hg; apply: (Rmult_le_reg_l C) => //.
have -> : C * (after / C) = after by field; lra.
apply: (Rle_trans _ _ _ (lower g hg)).
have := hC _ _ (fun ij : I * J => x ij.1) (fun ij : I * J => y ij.2) (pairs_law hg hp) (fun ij => hx ij.1)
  (fun ij => hy ij.2).
have ex v : output B (fun ij : I * J => g ij.1 ij.2) (fun ij => x ij.1) v = output B p x v.
  by apply: output_pairs => f; apply: mean_first hg f.
have ey v : output B (fun ij : I * J => g ij.1 ij.2) (fun ij => y ij.2) v = output B q y v.
  by apply: output_pairs => f; apply: mean_second hg f.
rewrite (mean_pairs g (fun i j => D (x i) (y j))).
have -> // : mean (fun ij : I * J => g ij.1 ij.2) (fun ij => D
     (output B (fun ij : I * J => g ij.1 ij.2) (fun ij => x ij.1) (x ij.1))
     (output B (fun ij : I * J => g ij.1 ij.2) (fun ij => y ij.2) (y ij.2))) =
   cost (fun i j => D (output B p x (x i)) (output B q y (y j))) g.
by rewrite -mean_pairs; apply: mean_ext => ij; rewrite ex ey.
Qed.

(* The theorem. Two laws with finitely many atoms in the unit ball, in any dimension.
   Part of: lipschitz.sharp-w1. *)
Theorem attention_W1 (K I J : finType) (B : K -> K -> R) a (p : I -> R) (q : J -> R) (x : I -> K -> R)
  (y : J -> K -> R)
  before after :
  0 <= a -> (forall u, norm (T B u) <= a * norm u) ->
  law p -> law q -> (forall i, norm (x i) <= 1) -> (forall j, norm (y j) <= 1) ->
  W1 (fun i j => norm (minus (x i) (y j))) p q before ->
  W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after ->
  after <= exp (2 * a) * (1 + 2 * a) * before.
Proof.
move=> a0 hB hp _ hx hy; apply: (W1_moved (D := fun u v => norm (minus u v))) => // [|L w x' y' hw].
  by apply: Rmult_lt_0_compat; [apply: exp_pos | lra].
by apply: moved_by => // z h u hz hu; exact: speed_sharp.
Qed.
