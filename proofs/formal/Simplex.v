(* Tokens of equal overlaps under attention on the sphere: one equation for the overlap, its solution, and when two
   equal clusters are slower.

   Reader's checklist: [simplex x rho] says that all tokens have length one and all overlaps are rho; [velocity W x i]
   is the pull of the weights W projected to the tangent space at token i; [SA] has rows that are softmax of beta times
   overlaps, [USA] weighs by exp(beta times overlap) / n; n is [INR #|I|]. [simplex_field] says that all overlaps have
   the same derivative; that they stay equal in time is in [Equiangular]. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Softmax Jacobian Tokens IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Simplex.
Variables I K : finType.
Implicit Types (x : I -> K -> R) (W : I -> I -> R) (i j : I) (beta rho : R).

Definition simplex x rho := forall i j, dot (x i) (x j) = if j == i then 1 else rho.
Definition pull W x i k := \sum_j (W i j * x j k).
Definition velocity W x i k := pull W x i k - dot (pull W x i) (x i) * x i k.
Definition SA beta x i j := softmax (fun m => beta * dot (x i) (x m)) j.
Definition USA beta x i j := exp (beta * dot (x i) (x j)) / INR #|I|.

Lemma sum_if i (c : R) : \sum_j (if j == i then c else 0) = c.
Proof. by rewrite -big_mkcond big_pred1_eq. Qed.

(* A token weighs itself and all others alike. *)
Lemma simplex_pull x rho W own other i j : simplex x rho ->
  (forall m, W i m = if m == i then own else other) -> j != i ->
  dot (velocity W x i) (x j) = other * (1 - rho) * ((INR #|I| - 1) * rho + 1).
Proof.
move=> hx hW ne; have flat m : dot (pull W x i) (x m) = \sum_l (W i l * dot (x l) (x m)) := dot_mean (W i) x (x m).
rewrite /velocity dotBl dotZl !flat hx (negbTE ne).
have -> : \sum_l (W i l * dot (x l) (x i)) =
    \sum_l (other * rho + (if l == i then own - other * rho else 0)).
  by apply: sum_ext => l; rewrite hW hx (eq_sym i); case: (l == i); ring.
have -> : \sum_l (W i l * dot (x l) (x j)) =
    \sum_l (other * rho + ((if l == i then (own - other) * rho else 0) + (if l == j then other * (1 - rho) else 0))).
  apply: sum_ext => l; rewrite hW hx (eq_sym j); case: (eqVneq l i) => [->|_]; last by case: (l == j); ring.
  by rewrite eq_sym (negbTE ne); ring.
by rewrite !sumD !sum_if !sum_const; ring.
Qed.

Lemma simplex_SA x rho beta i j : simplex x rho ->
  SA beta x i j = (if j == i then exp beta else exp (beta * rho)) /
    (exp beta + (INR #|I| - 1) * exp (beta * rho)).
Proof.
move=> hx; rewrite /SA /softmax /normaliser hx; congr (_ / _).
  by case: (j == i) => //; rewrite Rmult_1_r.
have -> : \sum_m exp (beta * dot (x i) (x m)) =
    \sum_m (exp (beta * rho) + (if m == i then exp beta - exp (beta * rho) else 0)).
  by apply: sum_ext => m; rewrite hx; case: (m == i); rewrite ?Rmult_1_r; ring.
by rewrite sumD sum_if sum_const; ring.
Qed.

(* Tokens that move along their velocities: all overlaps have this derivative.
   Part of: equiangular.field. *)
Theorem simplex_field (x : R -> I -> K -> R) (W : (I -> K -> R) -> I -> I -> R) rho beta s :
  simplex (x s) rho -> (forall i k, is_derive (fun t => x t i k) s (velocity (W (x s)) (x s) i k)) ->
  let slope := fun r => forall i j, j != i -> is_derive (fun t => dot (x t i) (x t j)) s r in
  ((forall y, W y = SA beta y) -> slope (2 * exp (beta * rho) * (1 - rho) * ((INR #|I| - 1) * rho + 1) /
    (exp beta + (INR #|I| - 1) * exp (beta * rho)))) /\
  ((forall y, W y = USA beta y) ->
    slope (2 / INR #|I| * exp (beta * rho) * (1 - rho) * ((INR #|I| - 1) * rho + 1))).
Proof.
move=> hx hd slope.
have product i j : is_derive (fun t => dot (x t i) (x t j)) s
    (dot (velocity (W (x s)) (x s) i) (x s j) + dot (velocity (W (x s)) (x s) j) (x s i)).
  rewrite (dotC (velocity _ _ j)) /dot -sumD; apply: is_derive_sum => k.
  refine (@eq_ind R _ (is_derive _ s) (is_derive_mult _ _ s _ _ (hd i k) (hd j k) Rmult_comm) _ _).
  by rewrite /plus /mult /=; ring.
split=> hW i j ne; refine (@eq_ind R _ (is_derive _ s) (product i j) _ _); rewrite hW.
  have own l m : SA beta (x s) l m = if m == l then exp beta / (exp beta + (INR #|I| - 1) * exp (beta * rho))
      else exp (beta * rho) / (exp beta + (INR #|I| - 1) * exp (beta * rho)).
    by rewrite (simplex_SA _ _ _ hx); case: (m == l).
  by rewrite (simplex_pull hx (own i) ne) (simplex_pull hx (own j)) 1?eq_sym // /Rdiv; ring.
have own l m : USA beta (x s) l m = if m == l then exp beta / INR #|I| else exp (beta * rho) / INR #|I|.
  by rewrite /USA hx; case: (m == l); rewrite ?Rmult_1_r.
by rewrite (simplex_pull hx (own i) ne) (simplex_pull hx (own j)) 1?eq_sym // /Rdiv; ring.
Qed.
End Simplex.

(* The scalar equation in closed form, g = 1 - rho, for functions with the derivatives of Ei and E_1.
   Part of: equiangular.time.
   No twin: an equality; to deny another takes a solution and the integrals, which are hypotheses here. *)
Theorem simplex_time (Ei E1 g : R -> R) n beta c T : 1 < n -> c = n / (n - 1) -> 0 < beta -> 0 <= T ->
  (forall z, 0 < z -> is_derive Ei z (exp z / z)) -> (forall z, 0 < z -> is_derive E1 z (- exp (- z) / z)) ->
  (forall t, 0 <= t <= T -> 0 < g t < c) ->
  (forall t, 0 <= t <= T -> is_derive g t (- (2 * exp (beta * (1 - g t)) * g t * ((n - 1) * (1 - g t) + 1) /
    (exp beta + (n - 1) * exp (beta * (1 - g t)))))) ->
  let F := fun z => Ei (beta * z) + exp (beta * c) * E1 (beta * (c - z)) + (n - 1) * ln (z / (c - z)) in
  2 * n * T = F (g 0) - F (g T).
Proof.
move=> n1 hc b0 T0 dEi dE1 inside dg F.
have dF z : 0 < z < c -> is_derive F z ((exp (beta * z) + n - 1) * (/ z + / (c - z))).
  move=> hz; have h1 : 0 < beta * z by apply: Rmult_lt_0_compat; lra.
  have h2 : 0 < beta * (c - z) by apply: Rmult_lt_0_compat; lra.
  have d1 : is_derive (fun z => Ei (beta * z)) z (beta * (exp (beta * z) / (beta * z))).
    apply: (is_derive_comp Ei (fun z => beta * z)); first exact: dEi.
    by auto_derive => //; ring.
  have d2 : is_derive (fun z => E1 (beta * (c - z))) z (- beta * (- exp (- (beta * (c - z))) / (beta * (c - z)))).
    apply: (is_derive_comp E1 (fun z => beta * (c - z))); first exact: dE1.
    by auto_derive => //; ring.
  have q : 0 < z / (c - z) by apply: Rdiv_lt_0_compat; lra.
  have d3 : is_derive (fun z => ln (z / (c - z))) z (/ z + / (c - z)).
    by auto_derive; [split; [lra | split => //] | field; lra].
  refine (@eq_ind R _ (is_derive F z) (is_derive_plus _ _ z _ _ (is_derive_plus _ _ z _ _ d1
    (is_derive_scal _ z (exp (beta * c)) _ d2)) (is_derive_scal _ z (n - 1) _ d3)) _ _).
  rewrite /plus /=; have -> : exp (- (beta * (c - z))) = exp (beta * z) * / exp (beta * c).
    by rewrite -exp_Ropp -exp_plus; congr exp; ring.
  by field; have := exp_pos (beta * c); lra.
have d t : 0 <= t <= T -> is_derive (fun t => F (g t) + 2 * n * t) t 0.
  move=> ht; have hg := inside t ht.
  have dd := is_derive_comp F g t _ _ (dF _ hg) (dg t ht).
  have dl : is_derive (fun t => 2 * n * t) t (2 * n) by auto_derive => //; ring.
  refine (@eq_ind R _ (is_derive _ t) (is_derive_plus _ _ t _ _ dd dl) _ _).
  rewrite /plus /scal /= /mult /=.
  have -> : exp (beta * (1 - g t)) = exp beta * / exp (beta * g t).
    by rewrite -exp_Ropp -exp_plus; congr exp; ring.
  have e1 := exp_pos beta; have e2 := exp_pos (beta * g t); set A := exp beta in e1 *; set E := exp _ in e2 *.
  have -> : (n - 1) * (1 - g t) + 1 = (n - 1) * (c - g t) by rewrite hc; field; lra.
  have p : 0 < n - 1 by lra.
  have s : 0 < E + (n - 1) by lra.
  have -> : 2 * (A * / E) * g t * ((n - 1) * (c - g t)) / (A + (n - 1) * (A * / E)) =
    2 * g t * ((n - 1) * (c - g t)) / (E + (n - 1)).
    by field; have := Rmult_lt_0_compat _ _ e1 s; repeat split; nra.
  have -> : (n - 1) * (c - g t) = n - (n - 1) * g t by rewrite hc; field; lra.
  have -> : / (c - g t) = (n - 1) / (n - (n - 1) * g t).
    rewrite hc; field; split; last by lra.
    by move=> z; have : (n - 1) * (c - g t) = 0 by [rewrite hc; field_simplify; lra]; nra.
  have m0 : 0 < n - (n - 1) * g t.
    have -> : n - (n - 1) * g t = (n - 1) * (c - g t) by rewrite hc; field; lra.
    by apply: Rmult_lt_0_compat; lra.
  by field; lra.
case: (MVT_gen (fun t => F (g t) + 2 * n * t) 0 T (fun=> 0)) => [t [lo hi]|t [lo hi]|t [_ e]].
- by apply: d; move: lo hi; rewrite Rmin_left // Rmax_right //; lra.
- apply: derivable_continuous_pt; exists 0; apply/is_derive_Reals; apply: d.
  by move: lo hi; rewrite Rmin_left // Rmax_right //; lra.
by move: e; lra.
Qed.

(* Two equal clusters are slower than the simplex iff m exp(beta (1 - m)) exceeds one. The rates are written down; that
   they are those is in [Slowest].
   Part of: equiangular.threshold. *)
Theorem clusters_slower n m beta : 2 < n -> let E := exp (beta * (1 - m)) in
  let clusters := (1 + m) / (1 + E) in let together := ((n - 1) * m + 1) / (E + n - 1) in
  clusters - together = (n - 2) * (1 - m * E) / ((1 + E) * (E + n - 1)) /\ (clusters < together <-> 1 < m * E) /\
  (n = 10 -> m = 3 / 10 -> beta = 5 -> 532 / 10000 < 2 * (1 - m) * clusters < 534 / 10000 /\
    1229 / 10000 < 2 * (1 - m) * together < 1231 / 10000).
Proof.
move=> n2 E clusters together; have e : 0 < E := exp_pos _.
have id : clusters - together = (n - 2) * (1 - m * E) / ((1 + E) * (E + n - 1)).
  by apply: threshold_identity; lra.
have p : 0 < (1 + E) * (E + n - 1) by apply: Rmult_lt_0_compat; lra.
have i0 := Rinv_0_lt_compat _ p; split=> //; split.
  split=> h.
    apply: Rnot_le_lt => k; have : 0 <= (n - 2) * (1 - m * E) / ((1 + E) * (E + n - 1)).
      by apply: Rmult_le_pos; [apply: Rmult_le_pos; lra | lra].
    by lra.
  have : 0 < - ((n - 2) * (1 - m * E) / ((1 + E) * (E + n - 1))).
    rewrite /Rdiv Ropp_mult_distr_l Ropp_mult_distr_r.
    by apply: Rmult_lt_0_compat => //; apply: Rmult_lt_0_compat; lra.
  by lra.
by rewrite /clusters /together /E => -> -> ->; split; split; interval with (i_prec 40).
Qed.

(* Twin: the threshold is not exp(beta (1 - m)) = 1; three tokens, m = 1/2 and exp(beta (1 - m)) = 3/2.
   Twin of: clusters_slower, threshold_identity. *)
Theorem not_threshold_without_overlap : ~ forall n m E, 2 < n -> 0 < m < 1 -> 0 < E ->
  ((1 + m) / (1 + E) < ((n - 1) * m + 1) / (E + n - 1) <-> 1 < E).
Proof. by move=> h; have [_] := h 3 (1 / 2) (3 / 2) ltac:(lra) ltac:(lra) ltac:(lra); lra. Qed.

(* Twin: one of two tokens counted, at orthogonal tokens.
   Twin of: simplex_field. *)
Theorem not_field_once : ~ forall (I K : finType) (x : I -> K -> R) rho beta i j, simplex x rho -> j != i ->
  dot (velocity (USA beta x) x i) (x j) + dot (velocity (USA beta x) x j) (x i) =
  1 / INR #|I| * exp (beta * rho) * (1 - rho) * ((INR #|I| - 1) * rho + 1).
Proof.
pose x (b c : bool) : R := if b == c then 1 else 0.
have hx : simplex x 0 by move=> [] []; rewrite /dot big_bool /x /=; ring.
have own l m : USA 0 x l m = if m == l then exp 0 / INR #|bool_finType| else exp (0 * 0) / INR #|bool_finType|.
  by rewrite /USA hx; case: (m == l); rewrite ?Rmult_1_r ?Rmult_0_l.
move=> h; have := h _ _ x 0 0 true false hx isT.
rewrite (simplex_pull hx (own true)) // (simplex_pull hx (own false)) // card_bool /= Rmult_0_l exp_0; lra.
Qed.
