(* Slopes: of the log-partition, of an output in its query, and of softmax in the temperature.

   Reader's checklist: a gradient is stated by its product with every direction h, as the derivative along a line at 0;
   [keys h i] is <k_i, h>; scale is 1 / tau, of which 1 / sqrt d is one; an output is taken along any vector, or as a
   vector where norms are compared. Of layer.query-bound the whole is [query_bound_operator]. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Softmax Jacobian.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Gradient.
Variables I K : finType.
Implicit Types (s v : I -> R) (key : I -> K -> R) (tau : R).

(* The slope of tau log sum exp(s / tau) is softmax(s / tau). *)
Lemma lse_slope s v tau : 0 < tau -> inhabited I ->
  is_derive (fun t => tau * lse (fun j => (s j + t * v j) / tau)) 0 (mean (softmax (fun j => s j / tau)) v).
Proof.
move=> ht point; have n0 := normaliser_gt0 point (fun j => s j / tau).
have e0 : normaliser (fun j => (s j + 0 * v j) / tau) = normaliser (fun j => s j / tau).
  by apply: sum_ext => j; congr exp; field; lra.
have dn : is_derive (fun t => normaliser (fun j => (s j + t * v j) / tau)) 0
    (\sum_j (exp (s j / tau) * (v j / tau))).
  apply: is_derive_sum => j; auto_derive => //.
  by rewrite /Rdiv Rmult_0_l Rplus_0_r; ring.
have dl : is_derive ln (normaliser (fun j => (s j + 0 * v j) / tau)) (/ normaliser (fun j => s j / tau)).
  by rewrite e0; apply/is_derive_Reals; apply: derivable_pt_lim_ln.
have dc := is_derive_comp ln (fun t => normaliser (fun j => (s j + t * v j) / tau)) 0 _ _ dl dn.
have d := is_derive_scal _ 0 tau _ dc.
refine (@eq_ind R _ (is_derive _ 0) d _ _).
rewrite /scal /= /mult /= /mean -sumZr -sumZ; apply: sum_ext => j; rewrite /softmax; field; lra.
Qed.

(* Values equal to keys: the output is the gradient of the log-partition in the query.
   Claim: variant.lse-gradient. *)
Theorem lse_gradient key (q h : K -> R) tau : 0 < tau -> inhabited I ->
  let p := softmax (fun j => dot (key j) q / tau) in
  is_derive (fun t => tau * lse (fun j => dot (key j) (fun k => q k + t * h k) / tau)) 0
    (dot (fun k => mean p (fun j => key j k)) h).
Proof.
move=> ht point p; rewrite dot_mean.
apply: (is_derive_ext (fun t => tau * lse (fun j => (dot (key j) q + t * dot (key j) h) / tau))) => [t|].
  congr (tau * ln _); apply: sum_ext => j; congr (exp (_ / _)).
  by rewrite /dot -sumZ -sumD; apply: sum_ext => k; ring.
exact: lse_slope.
Qed.

(* The output moves with the query by the covariance of values and keys.
   Claim: layer.query-gradient. *)
Theorem query_gradient key v (q h : K -> R) tau : 0 < tau -> inhabited I ->
  let p := softmax (fun j => dot (key j) q / tau) in let keys := fun j => dot (key j) h in
  is_derive (fun t => mean (softmax (fun j => dot (key j) (fun k => q k + t * h k) / tau)) v) 0
    (mean p (fun j => (v j - mean p v) * (keys j - mean p keys)) / tau).
Proof.
move=> ht point p keys; have hp : law p := softmax_law point _.
have [d _] := jacobian_temperature (fun j => dot (key j) q) keys ht point; rewrite -/p in d.
apply: (is_derive_ext (fun t => \sum_j (v j * softmax (fun j => (dot (key j) q + t * keys j) / tau) j))) => [t|].
  apply: sum_ext => j; rewrite Rmult_comm; congr (_ * _).
  have -> : (fun j => (dot (key j) q + t * keys j) / tau) = (fun j => dot (key j) (fun k => q k + t * h k) / tau).
    apply: functional_extensionality => i; congr (_ / _); rewrite /keys /dot -sumZ -sumD.
    by apply: sum_ext => k; ring.
  by [].
have ds : is_derive (fun t => \sum_j (v j * softmax (fun j => (dot (key j) q + t * keys j) / tau) j)) 0
    (\sum_j (v j * (jacobian p keys j / tau))) by apply: is_derive_sum => j; apply: is_derive_scal.
refine (@eq_ind R _ (is_derive _ 0) ds _ _).
rewrite -jacobian_cov // /dot /Rdiv -sumZr; apply: sum_ext => j; ring.
Qed.

(* Its norm is at most half of the norms of values and keys, over tau.
   Part of: layer.query-bound. *)
Theorem query_bound (L : finType) key (value : I -> L -> R) (p : I -> R) (h : K -> R) a b tau : 0 < tau -> 0 <= a ->
  0 <= b -> law p -> (forall u : I -> R, norm (fun l => \sum_j (u j * value j l)) <= a * norm u) ->
  norm (fun j => dot (key j) h) <= b * norm h ->
  norm (fun l => (\sum_j (jacobian p (fun i => dot (key i) h) j * value j l)) / tau) <= / 2 * a * b / tau * norm h.
Proof.
move=> ht a0 b0 hp hV hK; set keys := fun j => dot (key j) h in hK *.
have half : norm (jacobian p keys) <= / 2 * norm keys.
  apply: Rsqr_incr_0_var; last by have := norm_ge0 keys; lra.
  by rewrite /Rsqr norm_sq; have := jacobian_norm_half keys hp; rewrite -(norm_sq keys); lra.
have i0 : 0 < / tau by apply: Rinv_0_lt_compat.
have -> : norm (fun l => (\sum_j (jacobian p keys j * value j l)) / tau) =
    / tau * norm (fun l => \sum_j (jacobian p keys j * value j l)).
  rewrite /norm; set u := fun l => \sum_j _.
  have -> : dot (fun l => u l / tau) (fun l => u l / tau) = (/ tau * / tau) * dot u u.
    by rewrite /dot -sumZ; apply: sum_ext => l; rewrite /Rdiv; ring.
  rewrite sqrt_mult; [|by apply: Rmult_le_pos; lra|exact: dot_ge0].
  by rewrite sqrt_square //; lra.
have := hV (jacobian p keys) => h1.
have h2 := Rmult_le_compat_l _ _ _ a0 half; have h3 := Rmult_le_compat_l _ _ _ a0 hK.
have : / tau * norm (fun l => \sum_j (jacobian p keys j * value j l)) <= / tau * (/ 2 * a * (b * norm h)).
  by apply: Rmult_le_compat_l; lra.
by rewrite /Rdiv; lra.
Qed.

Lemma temperature_means s tau : 0 < tau -> inhabited I -> let p := softmax (fun j => s j / tau) in
  (forall i, is_derive (fun t => softmax (fun j => s j / t) i) tau (- (p i * (s i - mean p s)) / tau ^ 2)) /\
  is_derive (fun t => mean (softmax (fun j => s j / t)) s) tau (- variance p s / tau ^ 2).
Proof.
move=> ht point p; have hp : law p := softmax_law point _.
have d i : is_derive (fun t => softmax (fun j => s j / t) i) tau (- (p i * (s i - mean p s)) / tau ^ 2).
  have dj := softmax_derivative (fun=> 0) s (/ tau) i point.
  have di : is_derive (fun t => / t) tau (- / tau ^ 2) by auto_derive; [lra | field; lra].
  have dc := is_derive_comp (fun x => softmax (fun j => 0 + x * s j) i) (fun t => / t) tau _ _ dj di.
  apply: (is_derive_ext (fun t => softmax (fun j => 0 + / t * s j) i)) => [t|].
    rewrite /softmax /normaliser; congr (exp _ / _); first by rewrite /Rdiv; ring.
    by apply: sum_ext => j; congr exp; rewrite /Rdiv; ring.
  refine (@eq_ind R _ (is_derive _ tau) dc _ _).
  have -> : softmax (fun j => 0 + / tau * s j) = p.
    apply: functional_extensionality => j; rewrite /p /softmax /normaliser; congr (exp _ / _).
      by rewrite /Rdiv; ring.
    by apply: sum_ext => k; congr exp; rewrite /Rdiv; ring.
  by rewrite /scal /= /mult /= /jacobian; field; lra.
split=> //.
apply: (is_derive_ext (fun t => \sum_i (s i * softmax (fun j => s j / t) i))) => [t|].
  by apply: sum_ext => i; ring.
have ds : is_derive (fun t => \sum_i (s i * softmax (fun j => s j / t) i)) tau
    (\sum_i (s i * (- (p i * (s i - mean p s)) / tau ^ 2))) by apply: is_derive_sum => i; apply: is_derive_scal.
refine (@eq_ind R _ (is_derive _ tau) ds _ _).
rewrite -jacobian_variance // /dot /jacobian.
have -> : - (\sum_i (s i * (p i * (s i - mean p s)))) / tau ^ 2 =
    \sum_i (s i * (p i * (s i - mean p s)) * (- / tau ^ 2)) by rewrite sumZr; field; lra.
by apply: sum_ext => i; field; lra.
Qed.

(* In the temperature: hotter, the weights of scores above the mean fall, the mean score falls with the variance, and
   the entropy rises.
   Claim: softmax.temperature. *)
Theorem temperature_slope s tau : 0 < tau -> inhabited I -> let p := softmax (fun j => s j / tau) in
  (forall i, is_derive (fun t => softmax (fun j => s j / t) i) tau (- (p i * (s i - mean p s)) / tau ^ 2)) /\
  is_derive (fun t => mean (softmax (fun j => s j / t)) s) tau (- variance p s / tau ^ 2) /\
  is_derive (fun t => entropy (softmax (fun j => s j / t))) tau (variance p s / tau ^ 3) /\
  0 <= variance p s / tau ^ 3.
Proof.
move=> t0 point p; have [dp dm] := temperature_means s t0 point; rewrite -/p in dp dm.
have hp : law p := softmax_law point _; have t3 : 0 < tau ^ 3 by apply: pow_lt.
split=> //; split=> //; split; last first.
  by apply: Rmult_le_pos; [apply: variance_ge0 | left; apply: Rinv_0_lt_compat].
have n0 := normaliser_gt0 point (fun j => s j / tau).
have dn : is_derive (fun t => normaliser (fun j => s j / t)) tau (\sum_j (- s j / tau ^ 2 * exp (s j / tau))).
  apply: is_derive_sum => j.
  have dj : is_derive (fun t => s j / t) tau (- s j / tau ^ 2) by auto_derive; [lra | field; lra].
  exact: (is_derive_comp exp (fun t => s j / t) tau _ _ (is_derive_exp _) dj).
have total : \sum_j (- s j / tau ^ 2 * exp (s j / tau)) = - mean p s / tau ^ 2 * normaliser (fun j => s j / tau).
  have -> : - mean p s / tau ^ 2 * normaliser (fun j => s j / tau) =
    (- normaliser (fun j => s j / tau) / tau ^ 2) * mean p s by field; lra.
  by rewrite /mean -sumZ; apply: sum_ext => j; rewrite /p /softmax; field; lra.
have dl : is_derive (fun t => lse (fun j => s j / t)) tau (- mean p s / tau ^ 2).
  have dc := is_derive_comp ln (fun t => normaliser (fun j => s j / t)) tau _ _ (is_derive_ln _ n0) dn.
  refine (@eq_ind R _ (is_derive _ tau) dc _ _).
  by rewrite total /scal /= /mult /= Rmult_assoc Rinv_r; [rewrite Rmult_1_r | lra].
have di : is_derive (fun t => / t) tau (- / tau ^ 2) by auto_derive; [lra | field; lra].
apply: (is_derive_ext_loc (fun t => minus (lse (fun j => s j / t)) (mult (mean (softmax (fun j => s j / t)) s) (/ t)))).
  exists (mkposreal _ t0) => t _; rewrite entropy_softmax // /minus /plus /opp /mult /=; congr (_ + - _).
  by rewrite /mean -sumZr; apply: sum_ext => j; rewrite /Rdiv; ring.
have dd := is_derive_minus _ _ tau _ _ dl (is_derive_mult _ _ tau _ _ dm di Rmult_comm).
refine (@eq_ind R _ (is_derive _ tau) dd _ _).
by rewrite /minus /plus /opp /mult /= -/p; field; lra.
Qed.
End Gradient.

(* Twin: a temperature forgotten in front of the log-partition; two keys 1 and 0, tau = 2.
   Twin of: lse_gradient. *)
Theorem not_lse_without_temperature : ~ forall (I : finType) (s v : I -> R) tau, 0 < tau -> inhabited I ->
  is_derive (fun t => lse (fun j => (s j + t * v j) / tau)) 0 (mean (softmax (fun j => s j / tau)) v).
Proof.
move=> h; have two : 0 < 2 by lra.
have point : inhabited [finType of bool] by constructor; exact: true.
have d1 := is_derive_scal _ _ 2 _ (h [finType of bool] (fun=> 0) (fun=> 1) 2 two point).
have d2 := lse_slope (fun _ : bool => 0) (fun=> 1) two point.
have := is_derive_unique _ _ _ d2; rewrite (is_derive_unique _ _ _ d1) => e.
have hp := softmax_law point (fun=> 0 / 2).
by rewrite (mean_const 1 hp) in e; lra.
Qed.

(* Twin: the weights of large scores grow with the temperature, two scores 1 and 0.
   Twin of: temperature_slope. *)
Theorem not_temperature_sign : ~ forall (I : finType) (s : I -> R) tau, 0 < tau -> inhabited I ->
  let p := softmax (fun j => s j / tau) in
  is_derive (fun t => mean (softmax (fun j => s j / t)) s) tau (variance p s / tau ^ 2).
Proof.
move=> h; have point : inhabited bool_finType by constructor; exact: true.
pose s (b : bool) := if b then 1 else 0; have one : 0 < 1 by lra.
have d1 := h bool_finType s 1 one point; have [_ [d2 _]] := temperature_slope s one point.
have := is_derive_unique _ _ _ d2; rewrite (is_derive_unique _ _ _ d1) => e.
have hp := softmax_law point (fun j => s j / 1); set p := softmax _ in hp e.
have e1 : 1 ^ 2 = 1 by ring.
have z : variance p s = 0 by move: e; rewrite e1 /Rdiv Rinv_1; lra.
have p0 b : 0 < p b by apply: softmax_gt0.
have := sum_eq0 (fun i => Rmult_le_pos _ _ (proj1 hp i) (pow2_ge_0 (s i - mean p s))) z => zero.
have t := zero true; have f := zero false.
have a : (s true - mean p s) ^ 2 = 0 by have := p0 true; case: (Rmult_integral _ _ t); lra.
have b : (s false - mean p s) ^ 2 = 0 by have := p0 false; case: (Rmult_integral _ _ f); lra.
by rewrite /s /= in a b; nra.
Qed.

(* The bound of the query is attained by two keys 1 and -1, which are the values, at equal weights and tau = 1.
   Part of: layer.query-bound.
   No twin: an equality at a witness. *)
Theorem query_bound_attained : let s := fun b : bool => if b then 1 else -1 in
  \sum_j (jacobian (fun=> / 2) s j * s j) = / 2 * norm s * norm s.
Proof. by move=> s; rewrite Rmult_assoc norm_sq /dot /jacobian /mean !big_bool /s /=; field. Qed.

(* Twin: a quarter, the slope of one weight, for the half; the keys and values of [query_bound_attained].
   Twin of: query_bound, query_bound_operator. *)
Theorem not_query_bound_quarter : ~ forall (I K L : finType) (key : I -> K -> R) (value : I -> L -> R) (p : I -> R)
    (h : K -> R) a b tau, 0 < tau -> 0 <= a -> 0 <= b -> law p ->
  (forall u : I -> R, norm (fun l => \sum_j (u j * value j l)) <= a * norm u) ->
  norm (fun j => dot (key j) h) <= b * norm h ->
  norm (fun l => (\sum_j (jacobian p (fun i => dot (key i) h) j * value j l)) / tau) <= / 4 * a * b / tau * norm h.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
have s1 (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
have n1 (u : unit -> R) : norm u = Rabs (u tt) by rewrite /norm /dot s1; exact: sqrt_Rsqr_abs.
pose s (b : bool) := if b then 1 else -1.
have s2 : norm s * norm s = 2 by rewrite norm_sq /dot big_bool /s /=; ring.
move=> h; have := h bool_finType unit_finType unit_finType (fun b _ => s b) (fun b _ => s b) _ (fun=> 1)
  (norm s) (norm s) 1 Rlt_0_1 (norm_ge0 s) (norm_ge0 s) half.
have e : (fun j : bool => dot (fun _ : unit => s j) (fun=> 1)) = s.
  by apply: functional_extensionality => j; rewrite /dot s1; ring.
rewrite e !n1 Rabs_R1; have := query_bound_attained; rewrite -/s /= => at_ k.
have c0 (u : bool -> R) : norm (fun _ : unit => \sum_j (u j * s j)) <= norm s * norm u.
  rewrite n1; have := cauchy_schwarz u s; have := cauchy_schwarz (fun k => -1 * u k) s; rewrite dotZl.
  have -> : norm (fun k => -1 * u k) = norm u by rewrite /norm; congr sqrt; apply: sum_ext => k'; ring.
  by rewrite -/(dot u s) => c1 c2; apply: Rabs_le; lra.
have := k c0 ltac:(lra); rewrite at_ Rabs_pos_eq; lra.
Qed.

(* Twin: products for the covariance of values and keys; one key.
   Twin of: query_gradient. *)
Theorem not_query_gradient_uncentred : ~ forall (I K : finType) (key : I -> K -> R) (v : I -> R) (q h : K -> R) tau,
  0 < tau -> inhabited I -> let p := softmax (fun j => dot (key j) q / tau) in
  is_derive (fun t => mean (softmax (fun j => dot (key j) (fun k => q k + t * h k) / tau)) v) 0
    (mean p (fun j => v j * dot (key j) h / tau)).
Proof.
move=> h; pose key (_ _ : unit) := 1.
have d1 := h _ _ key (fun=> 1) (fun=> 0) (fun=> 1) 1 Rlt_0_1 (inhabits tt).
have d2 := query_gradient key (fun=> 1) (fun=> 0) (fun=> 1) Rlt_0_1 (inhabits tt).
have := is_derive_unique _ _ _ d2; rewrite (is_derive_unique _ _ _ d1).
have hp := softmax_law (inhabits tt) (fun j : unit => dot (key j) (fun=> 0) / 1).
have s1 (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
have := proj2 hp; rewrite /mean !s1 => ->; rewrite /dot !s1 /key; lra.
Qed.

(* Both as one: the slope along every direction h, its bound, and where it is attained: two keys 1 and -1, which are the
   values, so that both matrices have the norm of s, at the query zero and along h = 1.
   Claim: layer.query-bound. *)
Theorem query_bound_operator (I K L : finType) (key : I -> K -> R) (value : I -> L -> R) (q : K -> R) a b tau :
  0 < tau -> inhabited I -> 0 <= a -> 0 <= b ->
  (forall u : I -> R, norm (fun l => \sum_j (u j * value j l)) <= a * norm u) ->
  (forall h, norm (fun j => dot (key j) h) <= b * norm h) ->
  let p := softmax (fun j => dot (key j) q / tau) in
  let slope := fun h l => (\sum_j (jacobian p (fun i => dot (key i) h) j * value j l)) / tau in
  (forall h l, is_derive (fun t => mean (softmax (fun j => dot (key j) (fun k => q k + t * h k) / tau))
    (fun j => value j l)) 0 (slope h l)) /\
  (forall h, norm (slope h) <= / 2 * a * b / tau * norm h) /\
  let s := fun b : bool => if b then 1 else -1 in
  (forall u : bool -> R, Rabs (\sum_j (u j * s j)) <= norm s * norm u) /\
  (forall t, norm (fun j => s j * t) = norm s * Rabs t) /\
  (\sum_j (jacobian (softmax (fun j => s j * 0 / 1)) s j * s j)) / 1 = / 2 * norm s * norm s / 1.
Proof.
move=> t0 point a0 b0 hV hK p slope; have hp : law p := softmax_law point _.
split=> [h l|]; last split=> [h|s].
- refine (@eq_ind R _ (is_derive _ 0) (query_gradient key (fun j => value j l) q h t0 point) _ _); rewrite -/p.
  apply: (eq_trans (y := dot (fun j => value j l) (jacobian p (fun j => dot (key j) h)) / tau)).
    by rewrite jacobian_cov // /Rdiv {1 4}/mean -sumZr; apply: sum_ext => j; ring.
  by congr (_ / tau); apply: sum_ext => j; ring.
- exact: query_bound.
split=> [u|]; last split=> [t|].
- have := cauchy_schwarz u s; have := cauchy_schwarz (fun k => -1 * u k) s; rewrite dotZl.
  have -> : norm (fun k => -1 * u k) = norm u by rewrite /norm; congr sqrt; apply: sum_ext => k'; ring.
  by rewrite -/(dot u s) => c1 c2; apply: Rabs_le; lra.
- rewrite /norm -sqrt_Rsqr_abs -sqrt_mult_alt; last exact: dot_ge0.
  by congr sqrt; rewrite /dot -sumZr; apply: sum_ext => j; rewrite /Rsqr; ring.
have -> : softmax (fun j => s j * 0 / 1) = fun=> / 2.
  apply: functional_extensionality => j; rewrite /softmax /normaliser big_bool /= /Rdiv !Rmult_0_r Rmult_0_l exp_0.
  by field.
by rewrite /Rdiv Rinv_1 !Rmult_1_r; exact: query_bound_attained.
Qed.
