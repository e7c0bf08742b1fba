(* The Jacobian of softmax, J = diag(p) - p p^T.

   It is the derivative, <v, J v> = Var_p(v), and its norm is at most 2 max p_i (1 - p_i) <= 1/2 on l_2, attained at two
   equal scores. Hence softmax has Lipschitz constant 1/2. Reader's checklist: [jacobian p v] is J v, which
   [jacobian_matrix] pins; the temperature is one except in [jacobian_temperature]; squares of norms are compared. Other
   norms are in [Norms]. softmax.lipschitz is about two or three scores and nine pairs of norms, here are any number
   and one pair. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Softmax.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Jacobian.
Variable I : finType.
Implicit Types (s p v w : I -> R).

(* J v. *)
Definition jacobian p v i := p i * (v i - mean p v).

(* J is diag(p) - p p^T.
   Part of: softmax.jacobian. *)
Theorem jacobian_matrix p v i : jacobian p v i = \sum_j (((if j == i then p i else 0) - p i * p j) * v j).
Proof.
have -> : \sum_j (((if j == i then p i else 0) - p i * p j) * v j) =
          \sum_j (if j == i then p j * v j else 0) + - p i * mean p v.
  by rewrite /mean -sumZ -sumD; apply: sum_ext => j; case: eqP => [->|_]; ring.
by rewrite -big_mkcond big_pred1_eq /jacobian; ring.
Qed.

(* It is the derivative of softmax in the direction v. *)
Lemma is_derive_sum (f : I -> R -> R) (f' : I -> R) x :
  (forall i, is_derive (f i) x (f' i)) -> is_derive (fun t => \sum_i f i t) x (\sum_i f' i).
Proof.
move=> h.
have : forall r, is_derive (fun t => \big[Rplus/0]_(i <- r) f i t) x (\big[Rplus/0]_(i <- r) f' i).
  elim=> [|i r ih].
    rewrite big_nil; apply: (is_derive_ext (fun=> 0)) => [t|]; first by rewrite big_nil.
    exact: is_derive_const.
  rewrite big_cons; apply: (is_derive_ext (fun t => f i t + \big[Rplus/0]_(j <- r) f j t)) => [t|].
    by rewrite big_cons.
  exact: is_derive_plus.
by apply.
Qed.

(* Part of: softmax.jacobian. *)
Theorem softmax_derivative s v x i : inhabited I ->
  is_derive (fun t => softmax (fun j => s j + t * v j) i) x (jacobian (softmax (fun j => s j + x * v j)) v i).
Proof.
move=> point; set e := fun j => exp (s j + x * v j).
have d j : is_derive (fun t => exp (s j + t * v j)) x (v j * e j) by rewrite /e; auto_derive => //; ring.
have n0 := normaliser_gt0 point (fun j => s j + x * v j).
have dn := is_derive_sum d.
have dd := is_derive_div _ _ x _ _ (d i) dn (Rgt_not_eq _ _ n0).
refine (@eq_ind R _ (is_derive _ x) dd _ _).
rewrite -/(e i) /jacobian /mean /softmax -/(e i); set n := normaliser _ in n0 *.
rewrite -[\sum_j exp _]/n.
have -> : \sum_j (e j / n * v j) = / n * \sum_j (v j * e j).
  by rewrite -sumZ; apply: sum_ext => j; rewrite /Rdiv; ring.
by field; apply: Rgt_not_eq.
Qed.

(* <w, J v> is the covariance; J is symmetric and positive semidefinite. *)
Lemma jacobian_cov p v w : law p -> dot w (jacobian p v) = mean p (fun i => (w i - mean p w) * (v i - mean p v)).
Proof.
move=> hp; set a := mean p w; set c := mean p v.
have -> : mean p (fun i => (w i - a) * (v i - c)) = dot w (jacobian p v) + - a * (mean p v + - c * \sum_i p i).
  by rewrite /mean -!sumZ -sumD -sumZ -sumD; apply: sum_ext => i; rewrite /jacobian -/c; ring.
by rewrite (proj2 hp) -/c; ring.
Qed.

(* Part of: softmax.jacobian. *)
Theorem jacobian_variance p v : law p -> dot v (jacobian p v) = variance p v.
Proof. by move=> hp; rewrite jacobian_cov //; apply: mean_ext => i; ring. Qed.

(* Cauchy and Schwarz for covariances. *)
Lemma covariance_le p v w : law p ->
  mean p (fun i => (w i - mean p w) * (v i - mean p v)) ^ 2 <= variance p w * variance p v.
Proof.
move=> hp; set c := mean p (fun i => _).
have quad t : 0 <= variance p w + 2 * t * c + t ^ 2 * variance p v.
  have -> : variance p w + 2 * t * c + t ^ 2 * variance p v =
            mean p (fun i => ((w i - mean p w) + t * (v i - mean p v)) ^ 2).
    by rewrite /variance /c -!meanZ -!meanD; apply: mean_ext => i; ring.
  by apply: sum_ge0 => i; apply: Rmult_le_pos; [apply: (proj1 hp) | apply: pow2_ge_0].
have vv := variance_ge0 v hp; have vw := variance_ge0 w hp.
case: (Req_dec (variance p v) 0) => [v0|v0].
  case: (Req_dec c 0) => [->|c0]; first by rewrite v0; lra.
  have := quad (- (variance p w + 1) / (2 * c)); rewrite v0.
  have -> : 2 * (- (variance p w + 1) / (2 * c)) * c = - (variance p w + 1) by field.
  by lra.
have := quad (- c / variance p v).
have -> : variance p w + 2 * (- c / variance p v) * c + (- c / variance p v) ^ 2 * variance p v =
  (variance p w * variance p v - c ^ 2) / variance p v by field.
move=> h; have : 0 <= (variance p w * variance p v - c ^ 2) / variance p v * variance p v by apply: Rmult_le_pos.
have -> : (variance p w * variance p v - c ^ 2) / variance p v * variance p v =
  variance p w * variance p v - c ^ 2 by field.
by lra.
Qed.

(* Var_p(v) <= 2 sum p_i (1 - p_i) v_i^2: expand the variance over pairs of different atoms. *)
Lemma variance_pairs p v : law p -> variance p v = / 2 * \sum_i \sum_j (p i * p j * (v i - v j) ^ 2).
Proof.
move=> hp; rewrite variance_raw //; set m := mean p v; set q := mean p (fun i => v i ^ 2) : R.
have -> : \sum_i \sum_j (p i * p j * (v i - v j) ^ 2) = \sum_i (p i * v i ^ 2 + (q * p i + (-2 * m) * (p i * v i))).
  apply: sum_ext => i; rewrite /q /m.
  have -> : p i * v i ^ 2 + (mean p (fun j => v j ^ 2) * p i + -2 * mean p v * (p i * v i)) =
    p i * v i ^ 2 * (\sum_j p j) + (p i * mean p (fun j => v j ^ 2) + (-2 * p i * v i) * mean p v).
    by rewrite (proj2 hp); ring.
  by rewrite /mean -!sumZ -!sumD; apply: sum_ext => j; ring.
by rewrite !sumD !sumZ (proj2 hp) -/(mean p (fun i => v i ^ 2)) -/(mean p v) -/m -/q; field.
Qed.

Lemma variance_weights p v : law p -> variance p v <= 2 * \sum_i (p i * (1 - p i) * v i ^ 2).
Proof.
move=> hp; rewrite variance_pairs //.
have pair i j : p i * p j * (v i - v j) ^ 2 <=
    2 * (p i * p j * v i ^ 2 + p i * p j * v j ^ 2) - (if j == i then 4 * (p i * p i * v i ^ 2) else 0).
  have h : 0 <= p i * p j by apply: Rmult_le_pos; apply: (proj1 hp).
  by case: eqP => [->|_]; [right; ring | have := Rmult_le_pos _ _ h (pow2_ge_0 (v i + v j)); lra].
have -> : 2 * (\sum_i (p i * (1 - p i) * v i ^ 2)) = / 2 * \sum_i (4 * (p i * v i ^ 2) - 4 * (p i * p i * v i ^ 2)).
  by rewrite -!sumZ; apply: sum_ext => i; field.
apply: Rmult_le_compat_l; first by lra.
set q := mean p (fun j => v j ^ 2).
have row i : \sum_j (2 * (p i * p j * v i ^ 2 +
  p i * p j * v j ^ 2) - (if j == i then 4 * (p i * p i * v i ^ 2) else 0)) =
    2 * (p i * v i ^ 2 + q * p i) - 4 * (p i * p i * v i ^ 2).
  rewrite sumB -big_mkcond big_pred1_eq; congr (_ - _).
  have -> : 2 * (p i * v i ^ 2 + q * p i) = 2 * (p i * v i ^ 2) * (\sum_j p j) + 2 * p i * q by rewrite (proj2 hp);
    ring.
  by rewrite /q /mean -!sumZ -sumD; apply: sum_ext => j; ring.
have -> : \sum_i (4 * (p i * v i ^ 2) - 4 * (p i * p i * v i ^ 2)) =
    \sum_i (2 * (p i * v i ^ 2 + q * p i) - 4 * (p i * p i * v i ^ 2)).
  by rewrite !sumB !sumZ sumD sumZ (proj2 hp) -/(mean p (fun i => v i ^ 2)) -/q; ring.
by apply: sum_le => i; rewrite -row; apply: sum_le => j; apply: pair.
Qed.

Lemma variance_half p v c : law p -> (forall i, p i * (1 - p i) <= c) -> variance p v <= 2 * c * dot v v.
Proof.
move=> hp hc; apply: (Rle_trans _ _ _ (variance_weights v hp)); rewrite Rmult_assoc; apply: Rmult_le_compat_l;
  first by lra.
rewrite /dot -sumZ; apply: sum_le => i; have := hc i; have := pow2_ge_0 (v i); nra.
Qed.

(* The norm: |J v| <= 2 c |v| if p_i (1 - p_i) <= c for all i; c = 1/4 always serves.
   Part of: softmax.norms. *)
Theorem jacobian_norm p v c : law p -> (forall i, p i * (1 - p i) <= c) ->
  dot (jacobian p v) (jacobian p v) <= (2 * c) ^ 2 * dot v v.
Proof.
move=> hp hc; set w := jacobian p v; set n := dot w w.
have h := covariance_le v w hp; rewrite -jacobian_cov // -/w -/n in h.
have hw := variance_half w hp hc; have hv := variance_half v hp hc.
have w0 := variance_ge0 w hp; have v0 := variance_ge0 v hp; rewrite -/n in hw.
have n0 : 0 <= n := dot_ge0 w.
have : n ^ 2 <= n * ((2 * c) ^ 2 * dot v v).
  apply: (Rle_trans _ _ _ h); apply: (Rle_trans _ (2 * c * n * (2 * c * dot v v))); last by right; ring.
  exact: Rmult_le_compat.
by case: n0 => [n0|<-]; [move=> k; apply: (Rmult_le_reg_l n) => //; lra | have := dot_ge0 v; nra].
Qed.

(* Part of: softmax.lipschitz. *)
Theorem jacobian_norm_half p v : law p -> dot (jacobian p v) (jacobian p v) <= / 4 * dot v v.
Proof.
move=> hp; have q i : p i * (1 - p i) <= / 4 by have := pow2_ge_0 (p i - / 2); nra.
by have := jacobian_norm v hp q; lra.
Qed.

(* |softmax(s) - softmax(t)| <= |s - t| / 2.
   Part of: softmax.lipschitz. *)
Theorem softmax_lipschitz s t : inhabited I ->
  dot (fun i => softmax s i - softmax t i) (fun i => softmax s i - softmax t i) <=
  / 4 * dot (fun i => s i - t i) (fun i => s i - t i).
Proof.
move=> point; set w := fun i => softmax s i - softmax t i; set v := fun i => s i - t i.
pose path x := softmax (fun j => t j + x * v j).
have d x : is_derive (fun x => \sum_i (w i * path x i)) x (dot w (jacobian (path x) v)).
  apply: is_derive_sum => i; apply: is_derive_scal; exact: softmax_derivative.
case: (MVT_gen (fun x => \sum_i (w i * path x i)) 0 1 (fun x => dot w (jacobian (path x) v))) => [x _|x _|c [_ e]].
- exact: d.
- apply: derivable_continuous_pt; exists (dot w (jacobian (path x) v)); apply/is_derive_Reals; exact: d.
have hp : law (path c) by apply: softmax_law.
have e1 : dot w w = dot w (jacobian (path c) v).
  have -> : dot w w = \sum_i (w i * path 1 i) - \sum_i (w i * path 0 i); last by rewrite e; ring.
  rewrite -sumB; apply: sum_ext => i; rewrite /path {2}/w.
  have -> : softmax (fun j => t j + 1 * v j) i = softmax s i.
    rewrite /softmax /normaliser; congr (_ / _); first by congr exp; rewrite /v; ring.
    by apply: sum_ext => j; congr exp; rewrite /v; ring.
  have -> : softmax (fun j => t j + 0 * v j) i = softmax t i.
    rewrite /softmax /normaliser; congr (_ / _); first by congr exp; ring.
    by apply: sum_ext => j; congr exp; ring.
  by ring.
have cs : dot w (jacobian (path c) v) ^ 2 <= variance (path c) w * variance (path c) v.
  by rewrite jacobian_cov //; apply: covariance_le.
have q i : path c i * (1 - path c i) <= / 4 by have := pow2_ge_0 (path c i - / 2); nra.
have hw := variance_half w hp q; have hv := variance_half v hp q.
have w0 := variance_ge0 w hp; have v0 := variance_ge0 v hp.
have ww := dot_ge0 w; have vv := dot_ge0 v.
have : dot w w ^ 2 <= dot w w * (/ 4 * dot v v).
  rewrite {1}e1; apply: (Rle_trans _ _ _ cs).
  apply: (Rle_trans _ (2 * / 4 * dot w w * (2 * / 4 * dot v v))); last by right; field.
  exact: Rmult_le_compat.
by case: ww => [ww|<-]; [move=> k; apply: (Rmult_le_reg_l (dot w w)) => //; lra | nra].
Qed.
(* With a temperature: the derivative of softmax(s / tau) is J / tau, which is positive semidefinite and maps constants
   to zero.
   Claim: softmax.jacobian. *)
Theorem jacobian_temperature (s v : I -> R) tau : 0 < tau -> inhabited I ->
  let p := softmax (fun j => s j / tau) in
  (forall i, is_derive (fun t => softmax (fun j => (s j + t * v j) / tau) i) 0 (jacobian p v i / tau)) /\
  0 <= dot v (jacobian p v) / tau /\ (forall c i, jacobian p (fun=> c) i = 0).
Proof.
move=> ht point p; have hp : law p := softmax_law point _; split; [|split] => [i||c i].
- have d := softmax_derivative (fun j => s j / tau) (fun j => v j / tau) 0 i point.
  apply: (is_derive_ext (fun t => softmax (fun j => s j / tau + t * (v j / tau)) i)) => [t|].
    rewrite /softmax /normaliser; congr (exp _ / _); first by field; lra.
    by apply: sum_ext => j; congr exp; field; lra.
  refine (@eq_ind R _ (is_derive _ 0) d _ _).
  have -> : softmax (fun j => s j / tau + 0 * (v j / tau)) = p.
    apply: functional_extensionality => j; rewrite /p /softmax /normaliser; congr (exp _ / _); first by ring.
    by apply: sum_ext => k; congr exp; ring.
  rewrite /jacobian; have -> : mean p (fun j => v j / tau) = mean p v / tau.
    by rewrite /Rdiv /mean -sumZr; apply: sum_ext => j; ring.
  by field; lra.
- by rewrite jacobian_variance //; apply: Rmult_le_pos; [apply: variance_ge0 | left; apply: Rinv_0_lt_compat].
by rewrite /jacobian mean_const //; ring.
Qed.
End Jacobian.

(* Attained: two equal scores and the direction (1, -1).
   Part of: softmax.norms-attained.
   No twin: an equality at a witness. *)
Theorem half_attained : let p := fun _ : bool => / 2 in let v := fun b : bool => if b then 1 else -1 in
  law p /\ forall b, jacobian p v b = / 2 * v b.
Proof.
move=> p v; split; first by split=> [b|]; rewrite ?big_bool /p /=; lra.
by move=> b; rewrite /jacobian /mean big_bool /p /v /=; case: b; field.
Qed.

(* Twin: the outer product forgotten; one score.
   Twin of: jacobian_matrix. *)
Theorem not_without_outer : ~ forall (I : finType) (p v : I -> R) i, law p -> jacobian p v i = p i * v i.
Proof.
have one : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite (big_pred1 tt) //; case].
by move=> h; have := h [finType of unit] _ (fun=> 1) tt one; rewrite /jacobian (mean_const _ one); lra.
Qed.

(* Twin: the temperature forgotten; equal scores, tau = 2.
   Twin of: jacobian_temperature. *)
Theorem not_jacobian_without_temperature : ~ forall (I : finType) (s v : I -> R) tau i, 0 < tau -> inhabited I ->
  is_derive (fun t => softmax (fun j => (s j + t * v j) / tau) i) 0 (jacobian (softmax (fun j => s j / tau)) v i).
Proof.
have two : 0 < 2 by lra.
pose v (b : bool) := if b then 1 else 0.
move=> h; have d1 := h bool_finType (fun=> 0) v 2 true two (inhabits true).
have [/(_ true) d2 _] := jacobian_temperature (fun _ : bool => 0) v two (inhabits true).
have := is_derive_unique _ _ _ d2; rewrite (is_derive_unique _ _ _ d1).
rewrite /jacobian /softmax /normaliser /mean !big_bool /v /=; have -> : 0 / 2 = 0 by field.
by rewrite exp_0; lra.
Qed.

(* Twin: the outer product forgotten in the derivative; one score, whose weight is always one.
   Twin of: softmax_derivative. *)
Theorem not_derivative_without_outer : ~ forall (I : finType) (s v : I -> R) x i, inhabited I ->
  is_derive (fun t => softmax (fun j => s j + t * v j) i) x (softmax (fun j => s j + x * v j) i * v i).
Proof.
have point := inhabits tt; have one (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
move=> h; have := is_derive_unique _ _ _ (h _ (fun=> 0) (fun=> 1) 0 tt point).
rewrite (is_derive_unique _ _ _ (softmax_derivative (fun _ : unit => 0) (fun=> 1) 0 tt point)).
have := softmax_sum point (fun _ : unit => 0 + 0 * 1); rewrite one => e.
by rewrite /jacobian /mean one e; lra.
Qed.

(* Twin: the mean square for the variance; one score.
   Twin of: jacobian_variance. *)
Theorem not_mean_square : ~ forall (I : finType) (p v : I -> R), law p ->
  dot v (jacobian p v) = mean p (fun i => v i ^ 2).
Proof.
have one : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite (big_pred1 tt) //; case].
move=> h; have := h [finType of unit] _ (fun=> 1) one.
by rewrite jacobian_variance // variance_raw // !(mean_const _ one); lra.
Qed.

(* Twin: a quarter, the constant of one sigmoid, for a half; equal scores, and a lead of ln (9/4).
   Twin of: softmax_lipschitz. *)
Theorem not_lipschitz_quarter : ~ forall (I : finType) (s t : I -> R), inhabited I ->
  dot (fun i => softmax s i - softmax t i) (fun i => softmax s i - softmax t i) <=
  / 16 * dot (fun i => s i - t i) (fun i => s i - t i).
Proof.
move=> h; have := h _ (fun b : bool => if b then ln (9 / 4) else 0) (fun=> 0) (inhabits true).
have e : ln (9 / 4) = ln (3 / 2) + ln (3 / 2) by rewrite -ln_mult; [congr ln; field | lra | lra].
have l0 : 0 < ln (3 / 2) by rewrite -ln_1; apply: ln_increasing; lra.
have l1 := ln_le_minus_1 (ltac:(lra) : 0 < 3 / 2).
rewrite /dot /softmax /normaliser !big_bool /= exp_ln ?exp_0; last by lra.
rewrite e; nra.
Qed.
