(* The slowest acute configuration of tokens under softmax attention on the sphere: the farthest pair comes together at
   least as fast as in the simplex, or as in two equal clusters, whichever is slower.

   Reader's checklist: [rate beta x i j] is the derivative of the overlap of i and j if all tokens move along [velocity]
   with the weights [SA] of [Simplex], which is [rate_derivative]; n is [INR #|I|]; m is the overlap of i and j, which
   is not negative, and no other is less; E is exp(beta (1 - m)). Rates of [threshold_rates] are told in full, their
   numbers within one unit of the fourth digit. Paths, of which the least overlap is not differentiable, are not
   here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Softmax Jacobian Duality Tokens Simplex.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Rate.
Variables I K : finType.
Implicit Types (x : I -> K -> R) (W : I -> I -> R) (i j l : I) (beta m : R).

Definition rate beta x i j := dot (velocity (SA beta x) x i) (x j) + dot (x i) (velocity (SA beta x) x j).

(* The derivative of the overlap of tokens that move so.
   Part of: equiangular.threshold, equiangular.softmax-slowest.
   No twin: the product rule; what follows from it for the slowest, one per cent larger, is denied below. *)
Theorem rate_derivative (x : R -> I -> K -> R) beta t i j :
  (forall i k, is_derive (fun s => x s i k) t (velocity (SA beta (x t)) (x t) i k)) ->
  is_derive (fun s => dot (x s i) (x s j)) t (rate beta (x t) i j).
Proof.
move=> h; rewrite /rate /dot -sumD; apply: is_derive_sum => k.
exact: (is_derive_mult _ _ t _ _ (h i k) (h j k) Rmult_comm).
Qed.

Lemma half_rate W x i j :
  dot (velocity W x i) (x j) = \sum_l (W i l * (dot (x j) (x l) - dot (x i) (x l) * dot (x i) (x j))).
Proof.
have flat v : dot (pull W x i) v = \sum_l (W i l * dot (x l) v) := dot_mean (W i) x v.
by rewrite /velocity dotBl dotZl !flat -sumZr -sumB; apply: sum_ext => l; rewrite !(dotC (x l)); ring.
Qed.

(* The simplex, *)
Lemma simplex_rate x rho beta i j : simplex x rho -> j != i -> let E := exp (beta * (1 - rho)) in
  rate beta x i j = 2 * (1 - rho) * (((INR #|I| - 1) * rho + 1) / (E + INR #|I| - 1)).
Proof.
move=> hx ne E; rewrite /rate (dotC (x i)); set Z := exp beta + (INR #|I| - 1) * exp (beta * rho).
have hW k l : SA beta x k l = if l == k then exp beta / Z else exp (beta * rho) / Z.
  by rewrite (simplex_SA beta k l hx); case: (l == k).
rewrite (simplex_pull hx (hW i) ne) (simplex_pull hx (hW j)) /Z.
  have n1 : 1 <= INR #|I| by apply: (le_INR 1); apply/leP/card_gt0P; exists i.
  have e0 := exp_pos (beta * rho); have E0 : 0 < E := exp_pos _.
  have -> : exp beta = E * exp (beta * rho) by rewrite /E -exp_plus; congr exp; ring.
  by field; split; nra.
by rewrite eq_sym.
Qed.

(* and two equal clusters. *)
Lemma clusters_rate x (side : I -> bool) m beta i j : 2 * (\sum_l (if side l then 1 else 0)) = INR #|I| ->
  (forall k l, dot (x k) (x l) = if side k == side l then 1 else m) -> side i != side j ->
  let E := exp (beta * (1 - m)) in rate beta x i j = 2 * (1 - m) * ((1 + m) / (1 + E)).
Proof.
move=> half hx ne E; have n1 : 1 <= INR #|I| by apply: (le_INR 1); apply/leP/card_gt0P; exists i.
set h := \sum_l _ in half; have e0 := exp_pos (beta * m); have E0 : 0 < E := exp_pos _.
have sums s A B : \sum_l (if s == side l then A else B) = h * (A + B).
  have -> : \sum_l (if s == side l then A else B) =
      \sum_l ((if s then B else A) + (if s then A - B else B - A) * (if side l then 1 else 0)).
    by apply: sum_ext => l; case: s; case: (side l) => /=; ring.
  by rewrite sumD sumZ sum_const -half -/h; case: s; ring.
have eb : exp beta = E * exp (beta * m) by rewrite /E -exp_plus; congr exp; ring.
have weight k l : SA beta x k l = (if side k == side l then E else 1) / (h * (E + 1)).
  rewrite /SA /softmax /normaliser hx (_ : \sum_l exp _ = h * (exp beta + exp (beta * m))); last first.
    by rewrite -(sums (side k)); apply: sum_ext => o; rewrite hx; case: (_ == _); rewrite ?Rmult_1_r.
  by case: (_ == _); rewrite ?Rmult_1_r eb; field; nra.
have one k l : side k != side l -> dot (velocity (SA beta x) x k) (x l) = (1 - m) * ((1 + m) / (1 + E)).
  move=> kl; rewrite half_rate hx (negbTE kl).
  have -> : \sum_o (SA beta x k o * (dot (x l) (x o) - dot (x k) (x o) * m)) =
      \sum_o (if side k == side o then 0 else (1 - m * m) / (h * (E + 1))).
    apply: sum_ext => o; rewrite weight !hx; move: kl; case: (side k); case: (side l); case: (side o) => //= _;
    by field; nra.
  by rewrite sums; field; nra.
by rewrite /rate (dotC (x i)) !one // 1?eq_sym //; ring.
Qed.
End Rate.

(* Two equal clusters y of tokens are slower than the simplex x of as many iff m exp(beta (1 - m)) exceeds one.
   Claim: equiangular.threshold.
   No twin: equalities, and an equivalence, which deny every other number; that of [clusters_slower], applied here, has
   one. *)
Theorem threshold_rates (I K L : finType) (x : I -> K -> R) (y : I -> L -> R) (side : I -> bool) m beta i j k l :
  let n := INR #|I| in 2 < n -> simplex x m -> j != i -> 2 * (\sum_o (if side o then 1 else 0)) = n ->
  (forall o p, dot (y o) (y p) = if side o == side p then 1 else m) -> side k != side l ->
  let E := exp (beta * (1 - m)) in let clusters := (1 + m) / (1 + E) in
  let together := ((n - 1) * m + 1) / (E + n - 1) in
  rate beta y k l = 2 * (1 - m) * clusters /\
  rate beta x i j = 2 * (1 - m) * together /\
  clusters - together = (n - 2) * (1 - m * E) / ((1 + E) * (E + n - 1)) /\
  (m < 1 -> (2 * (1 - m) * clusters < 2 * (1 - m) * together <-> 1 < m * E)) /\
  (n = 10 -> m = 3 / 10 -> beta = 5 -> 532 / 10000 < 2 * (1 - m) * clusters < 534 / 10000 /\
    1229 / 10000 < 2 * (1 - m) * together < 1231 / 10000).
Proof.
move=> n n2 hx ne half hy kl E clusters together.
have [id [iff numbers]] := clusters_slower m beta n2; rewrite -/E -/clusters -/together in id iff numbers.
split; first exact: (clusters_rate beta half hy kl).
split; first exact: simplex_rate.
split=> //; split=> // m1; split=> h; first by apply: (proj1 iff); nra.
by have := proj2 iff h; nra.
Qed.

(* Chords of the exponential function. *)
Lemma exp_chord c u : 0 <= u <= 1 -> exp (c * u) <= 1 + (exp c - 1) * u.
Proof.
move=> hu; have e0 := exp_pos (c * u).
have a := exp_ineq1_le (c * (1 - u)); have b := exp_ineq1_le (- (c * u)).
have ea : exp c = exp (c * u) * exp (c * (1 - u)) by rewrite -exp_plus; congr exp; ring.
have eb : 1 = exp (c * u) * exp (- (c * u)) by rewrite -exp_plus -exp_0; congr exp; ring.
have p := Rmult_le_compat_l _ _ _ (Rlt_le _ _ e0) a; have q := Rmult_le_compat_l _ _ _ (Rlt_le _ _ e0) b.
rewrite -ea in p; rewrite -eb in q.
have := Rmult_le_compat_r u _ _ (proj1 hu) p; have := Rmult_le_compat_r (1 - u) _ _ ltac:(lra) q; lra.
Qed.

(* The bound, from sums over all tokens. *)
Lemma slowest_sums (n m E U V Q : R) : 2 <= n -> 0 <= m <= 1 -> 1 < E -> E + n - 1 <= U -> E + n - 1 <= V ->
  U + V - n <= Q -> E * (U + V) - n * E ^ 2 <= Q ->
  2 * Rmin (((n - 1) * m + 1) / (E + n - 1)) ((1 + m) / (1 + E)) <=
  2 * m + ((Q + m * E * n) * (/ U + / V) - 2 - 2 * m * E) / (E - 1).
Proof.
move=> n2 m0 E1 hU hV q1 q2; set S := U + V in q1 q2 *; have U0 : 0 < U by lra. have V0 : 0 < V by lra.
have S0 : 0 < S by rewrite /S; lra.
have mean : 4 / S <= / U + / V.
  apply: (Rmult_le_reg_r (S * U * V)); first by apply: Rmult_lt_0_compat => //; apply: Rmult_lt_0_compat.
  have -> : 4 / S * (S * U * V) = 4 * (U * V) by field; lra.
  have -> : (/ U + / V) * (S * U * V) = S * S by rewrite /S; field; lra.
  by have := pow2_ge_0 (U - V); rewrite /S; nra.
have mEn : 0 <= m * E * n by apply: Rmult_le_pos; [apply: Rmult_le_pos |]; lra.
have Q0 : 0 <= Q + m * E * n by rewrite /S in q1; lra.
have low := Rmult_le_compat_l _ _ _ Q0 mean.
have i0 : 0 < / (E - 1) by apply: Rinv_0_lt_compat; lra.
have step c b : c <= (Q + m * E * n) * (4 / S) -> b = 2 * m + (c - 2 - 2 * m * E) / (E - 1) ->
    b <= 2 * m + ((Q + m * E * n) * (/ U + / V) - 2 - 2 * m * E) / (E - 1).
  by move=> hc ->; apply: Rplus_le_compat_l; apply: Rmult_le_compat_r; lra.
have is0 : 0 < 4 / S by apply: Rdiv_lt_0_compat; lra.
have over (a b : R) : a * S <= b -> a * 4 <= b * (4 / S).
  move=> h; have := Rmult_le_compat_r (4 / S) _ _ (Rlt_le _ _ is0) h.
  by have -> : a * S * (4 / S) = a * 4 by field; lra.
case: (Rle_dec (m * E) 1) => mE.
  apply: Rle_trans (step (4 + 2 * n * (m * E - 1) / (E + n - 1)) (2 * (((n - 1) * m + 1) / (E + n - 1))) _ _).
  - by apply: Rmult_le_compat_l; [lra | exact: Rmin_l].
  - have -> : 4 + 2 * n * (m * E - 1) / (E + n - 1) = (1 + n * (m * E - 1) / (2 * (E + n - 1))) * 4 by field; lra.
    apply: over; suff : n * (m * E - 1) / (2 * (E + n - 1)) * S <= n * (m * E - 1) by lra.
    have -> : n * (m * E - 1) / (2 * (E + n - 1)) * S = n * (m * E - 1) * (S / (2 * (E + n - 1))) by field; lra.
    have : 1 <= S / (2 * (E + n - 1)).
      apply: (Rmult_le_reg_r (2 * (E + n - 1))); first by lra.
      have -> : S / (2 * (E + n - 1)) * (2 * (E + n - 1)) = S by field; lra.
      by rewrite /S; lra.
    by have : n * (m * E - 1) <= 0 by [nra]; nra.
  by field; lra.
apply: Rle_trans (step (4 * E * (1 + m) / (1 + E)) (2 * ((1 + m) / (1 + E))) _ _).
- by apply: Rmult_le_compat_l; [lra | exact: Rmin_r].
- have -> : 4 * E * (1 + m) / (1 + E) = E * (1 + m) / (1 + E) * 4 by field; lra.
  apply: over; case: (Rle_dec S (n * (1 + E))) => hS.
    suff : E * (1 + m) / (1 + E) * S - S <= n * (m * E - 1) by lra.
    have -> : E * (1 + m) / (1 + E) * S - S = (m * E - 1) * (S / (1 + E)) by field; lra.
    rewrite (Rmult_comm n); apply: Rmult_le_compat_l; first by lra.
    apply: (Rmult_le_reg_r (1 + E)); first by lra.
    by have -> : S / (1 + E) * (1 + E) = S by [field; lra]; lra.
  suff : n * E * (E - m) <= E * S - E * (1 + m) / (1 + E) * S by lra.
  have -> : E * S - E * (1 + m) / (1 + E) * S = E * (E - m) * (S / (1 + E)) by field; lra.
  have : n <= S / (1 + E).
    apply: (Rmult_le_reg_r (1 + E)); first by lra.
    by have -> : S / (1 + E) * (1 + E) = S by [field; lra]; lra.
  by have := Rmult_le_pos E (E - m) ltac:(lra) ltac:(lra); nra.
by field; lra.
Qed.

Lemma slowest_term (c m u v : R) : 0 < c -> 0 <= m -> 0 <= u <= 1 -> 0 <= v <= 1 -> let E := exp c in
  m * exp (c * u) + (exp (c * u) * (exp (c * v) - 1) - m * E * (exp (c * u) - 1)) / (E - 1) <=
  exp (c * u) * (m + v - m * u).
Proof.
move=> c0 m0 hu hv E; have E1 : 1 < E by rewrite -exp_0; apply: exp_increasing.
have y0 := exp_pos (c * u); have k := exp_chord c hv; rewrite -/E in k.
have := exp_chord c (u := 1 - u) ltac:(lra); rewrite -/E => h.
have ey : exp (c * u) * exp (c * (1 - u)) = E by rewrite /E -exp_plus; congr exp; ring.
have p := Rmult_le_compat_l _ _ _ (Rlt_le _ _ y0) h; rewrite ey in p.
have q := Rmult_le_compat_l _ _ _ (Rlt_le _ _ y0) k; have r := Rmult_le_compat_l _ _ _ m0 p.
apply: (Rmult_le_reg_r (E - 1)); first by lra.
have -> : (m * exp (c * u) + (exp (c * u) * (exp (c * v) - 1) - m * E * (exp (c * u) - 1)) / (E - 1)) * (E - 1) =
  m * exp (c * u) * (E - 1) + exp (c * u) * (exp (c * v) - 1) - m * E * (exp (c * u) - 1) by field; lra.
lra.
Qed.

Lemma slowest_half (I : finType) (c m : R) (u v y z a b : I -> R) : 0 < c -> 0 <= m <= 1 ->
  (forall l, 0 <= u l <= 1) -> (forall l, 0 <= v l <= 1) ->
  (forall l, y l = exp (c * u l)) -> (forall l, z l = exp (c * v l)) ->
  (forall l, a l = m + (1 - m) * u l) -> (forall l, b l = m + (1 - m) * v l) ->
  (1 - m) * (m * (\sum_l y l) + (\sum_l (y l * z l) - (\sum_l y l) - m * exp c * (\sum_l y l - INR #|I|)) / (exp c - 1))
  <= \sum_l (y l * (b l - a l * m)).
Proof.
move=> c0 m01 hu hv yu zv au bv; set E := exp c.
have Ep : 1 < E by have := exp_ineq1 c (Rgt_not_eq _ _ c0); rewrite -/E; lra.
set left := _ * _; have -> : left =
    \sum_l ((1 - m) * m * y l + ((1 - m) / (E - 1) * (y l * z l) + ((1 - m) * (- 1 - m * E) / (E - 1) * y l +
      (1 - m) * m * E / (E - 1)))).
  by rewrite !sumD !sumZ sum_const /left; field; lra.
apply: sum_le => l; have := slowest_term c0 (proj1 m01) (hu l) (hv l); rewrite -/E -yu -zv => h.
have -> : y l * (b l - a l * m) = (1 - m) * (y l * (m + v l - m * u l)) by rewrite au bv; ring.
apply: Rle_trans (Rmult_le_compat_l (1 - m) _ _ ltac:(lra) h); right; field; lra.
Qed.

(* No acute configuration brings its farthest pair together more slowly than the slower one of the simplex and of two
   equal clusters, and the bound is attained by them where it is theirs.
   Claim: equiangular.softmax-slowest. *)
Theorem softmax_slowest (I K : finType) (x : I -> K -> R) beta i j : let n := INR #|I| in let m := dot (x i) (x j) in
  (forall l, norm (x l) = 1) -> 0 <= beta -> i != j -> 0 <= m -> (forall k l, m <= dot (x k) (x l)) ->
  let E := exp (beta * (1 - m)) in let least := Rmin (((n - 1) * m + 1) / (E + n - 1)) ((1 + m) / (1 + E)) in
  2 * (1 - m) * least <= rate beta x i j /\
  2 / n * exp (- beta * (1 - m)) * (1 - m) * ((n - 1) * m + 1) <= 2 * (1 - m) * least /\
  (simplex x m -> m * E <= 1 -> rate beta x i j = 2 * (1 - m) * least) /\
  (forall side : I -> bool, 2 * (\sum_l (if side l then 1 else 0)) = n ->
    (forall k l, dot (x k) (x l) = if side k == side l then 1 else m) -> side i != side j -> 1 <= m * E ->
    rate beta x i j = 2 * (1 - m) * least).
Proof.
move=> n m unit b0 ne m0 acute E least.
have n2 : 2 <= n by apply: (le_INR 2); apply/leP/card_gt1P; exists i, j.
have m1 k l : dot (x k) (x l) <= 1 by have := cauchy_schwarz (x k) (x l); rewrite !unit; lra.
have mm1 : m <= 1 := m1 i j.
have E1 : 1 <= E.
  by have := exp_ineq1_le (beta * (1 - m)); have := Rmult_le_pos beta (1 - m) b0 ltac:(lra); rewrite -/E; lra.
have id : (1 + m) / (1 + E) - ((n - 1) * m + 1) / (E + n - 1) = (n - 2) * (1 - m * E) / ((1 + E) * (E + n - 1)).
  by apply: threshold_identity; lra.
have p : 0 < / ((1 + E) * (E + n - 1)) by apply: Rinv_0_lt_compat; apply: Rmult_lt_0_compat; lra.
split; [|split; [|split=> [hx|side half hx hs] mE]]; first last.
- rewrite (clusters_rate _ half hx hs) -/E /least Rmin_right //.
  by have := Rmult_le_pos ((n - 2) * (m * E - 1)) _ ltac:(nra) (Rlt_le _ _ p); rewrite /Rdiv in id *; lra.
- rewrite (simplex_rate _ hx) 1?eq_sym // -/E -/n /least Rmin_left //.
  by have := Rmult_le_pos ((n - 2) * (1 - m * E)) _ ltac:(nra) (Rlt_le _ _ p); rewrite /Rdiv in id *; lra.
- have -> : exp (- beta * (1 - m)) = / E by rewrite /E -exp_Ropp; congr exp; ring.
  have -> : 2 / n * / E * (1 - m) * ((n - 1) * m + 1) = 2 * (1 - m) * (((n - 1) * m + 1) / (n * E)) by field; lra.
  apply: Rmult_le_compat_l; first by lra.
  have t0 : 0 <= (n - 1) * m + 1 by nra.
  apply: Rmin_glb.
    by apply: Rmult_le_compat_l => //; apply: Rinv_le_contravar; nra.
  apply: (Rmult_le_reg_r (n * E * (1 + E))); first by apply: Rmult_lt_0_compat; nra.
  have -> : ((n - 1) * m + 1) / (n * E) * (n * E * (1 + E)) = ((n - 1) * m + 1) * (1 + E) by field; lra.
  have -> : (1 + m) / (1 + E) * (n * E * (1 + E)) = (1 + m) * (n * E) by field; lra.
  by nra.
pose a l := dot (x i) (x l); pose b l := dot (x j) (x l).
pose y l := exp (beta * (a l - m)); pose z l := exp (beta * (b l - m)).
pose U := \sum_l y l; pose V := \sum_l z l.
have y0 l : 0 < y l := exp_pos _; have z0 l : 0 < z l := exp_pos _.
have U0 : 0 < U by apply: sum_gt0 => //; constructor; exact: i.
have V0 : 0 < V by apply: sum_gt0 => //; constructor; exact: i.
have weight k l : SA beta x k l = exp (beta * (dot (x k) (x l) - m)) * / \sum_o exp (beta * (dot (x k) (x o) - m)).
  have shift o : exp (beta * dot (x k) (x o)) = exp (beta * m) * exp (beta * (dot (x k) (x o) - m)).
    by rewrite -exp_plus; congr exp; ring.
  have s0 : 0 < \sum_o exp (beta * (dot (x k) (x o) - m)).
    by apply: sum_gt0 => [|o]; [constructor; exact: i | apply: exp_pos].
  rewrite /SA /softmax /normaliser shift.
  rewrite (_ : \sum_o exp _ = \sum_o (exp (beta * m) * exp (beta * (dot (x k) (x o) - m)))).
    by rewrite sumZ; field; split; [lra | have := exp_pos (beta * m); lra].
  exact: sum_ext.
have -> : rate beta x i j = (\sum_l (y l * (b l - a l * m))) * / U + (\sum_l (z l * (a l - b l * m))) * / V.
  rewrite /rate half_rate (dotC (x i) (velocity _ _ _)) half_rate (dotC (x j) (x i)) -/m -!sumZr.
  by congr (_ + _); apply: sum_ext => l; rewrite weight /U /V /y /z /a /b; ring.
case: (Rle_lt_or_eq_dec _ _ mm1) => [lt|e]; last first.
  have one k l : dot (x k) (x l) = 1 by apply: Rle_antisym; [exact: m1 | have := acute k l; lra].
  rewrite !big1 => [|l _|l _]; first by rewrite e; lra.
    by rewrite /a /b !one e; ring.
  by rewrite /a /b !one e; ring.
have ai : a i = 1 by rewrite /a -norm_sq unit; ring.
have bj : b j = 1 by rewrite /b -norm_sq unit; ring.
have spike (k : I) (A B : R) : \sum_l (A + (if l == k then B else 0)) = n * A + B by rewrite sumD sum_const sum_if.
have sa : (n - 1) * m + 1 <= \sum_l a l.
  have -> : (n - 1) * m + 1 = n * m + (1 - m) by ring.
  rewrite -(spike i); apply: sum_le => l; case: eqP => [->|_]; first by rewrite ai; lra.
  by have := acute i l; rewrite /a; lra.
have sb : (n - 1) * m + 1 <= \sum_l b l.
  have -> : (n - 1) * m + 1 = n * m + (1 - m) by ring.
  rewrite -(spike j); apply: sum_le => l; case: eqP => [->|_]; first by rewrite bj; lra.
  by have := acute j l; rewrite /b; lra.
case: (Rle_lt_or_eq_dec _ _ b0) => [bp|bz]; last first.
  have y1 l : y l = 1 by rewrite /y -bz Rmult_0_l exp_0.
  have z1 l : z l = 1 by rewrite /z -bz Rmult_0_l exp_0.
  have Un : U = n by rewrite /U (sum_ext (g := fun=> 1)) // sum_const Rmult_1_r.
  have Vn : V = n by rewrite /V (sum_ext (g := fun=> 1)) // sum_const Rmult_1_r.
  have -> : \sum_l (y l * (b l - a l * m)) = (\sum_l b l) - m * (\sum_l a l).
    by rewrite -sumZ -sumB; apply: sum_ext => l; rewrite y1; ring.
  have -> : \sum_l (z l * (a l - b l * m)) = (\sum_l a l) - m * (\sum_l b l).
    by rewrite -sumZ -sumB; apply: sum_ext => l; rewrite z1; ring.
  have e1 : E = 1 by rewrite /E -bz Rmult_0_l exp_0.
  rewrite Un Vn; apply: Rle_trans (_ : 2 * (1 - m) * (((n - 1) * m + 1) / n) <= _).
    apply: Rmult_le_compat_l; first by lra.
    by apply: Rle_trans (Rmin_l _ _) _; rewrite e1; right; congr (_ / _); ring.
  have i0 : 0 < / n by apply: Rinv_0_lt_compat; lra.
  have -> : 2 * (1 - m) * (((n - 1) * m + 1) / n) = (1 - m) * (2 * ((n - 1) * m + 1)) * / n by rewrite /Rdiv; ring.
  have -> : (\sum_l b l - m * \sum_l a l) * / n + (\sum_l a l - m * \sum_l b l) * / n =
    (1 - m) * (\sum_l a l + \sum_l b l) * / n by ring.
  apply: Rmult_le_compat_r; first by lra.
  by apply: Rmult_le_compat_l; lra.
pose c := beta * (1 - m); have c0 : 0 < c by apply: Rmult_lt_0_compat; lra.
have Ep : 1 < E by have := exp_ineq1 c (Rgt_not_eq _ _ c0); rewrite -[exp c]/E; lra.
pose u l := (a l - m) / (1 - m); pose v l := (b l - m) / (1 - m).
have au l : a l = m + (1 - m) * u l by rewrite /u; field; lra.
have bv l : b l = m + (1 - m) * v l by rewrite /v; field; lra.
have i1 : 0 < / (1 - m) by apply: Rinv_0_lt_compat; lra.
have u01 l : 0 <= u l <= 1.
  have h := acute i l; have h' := m1 i l; have := au l; rewrite /a => e; split; nra.
have v01 l : 0 <= v l <= 1.
  have h := acute j l; have h' := m1 j l; have := bv l; rewrite /b => e; split; nra.
have yu l : y l = exp (c * u l) by rewrite /y au /c; congr exp; ring.
have zv l : z l = exp (c * v l) by rewrite /z bv /c; congr exp; ring.
have range (q : R) : 0 <= q <= 1 -> 1 <= exp (c * q) <= E.
  move=> hq; split; first by have := exp_ineq1_le (c * q); have := Rmult_le_pos c q; lra.
  by have := exp_chord c hq; rewrite -/E; nra.
have ry l : 1 <= y l <= E by rewrite yu; apply: range.
have rz l : 1 <= z l <= E by rewrite zv; apply: range.
have hU : E + n - 1 <= U.
  have -> : E + n - 1 = n * 1 + (E - 1) by ring.
  rewrite -(spike i); apply: sum_le => l; case: eqP => [->|_]; first by rewrite /y ai -/E; lra.
  by have := ry l; lra.
have hV : E + n - 1 <= V.
  have -> : E + n - 1 = n * 1 + (E - 1) by ring.
  rewrite -(spike j); apply: sum_le => l; case: eqP => [->|_]; first by rewrite /z bj -/E; lra.
  by have := rz l; lra.
pose Q := \sum_l (y l * z l).
have q1 : U + V - n <= Q.
  have := sum_ge0 (f := fun l => (y l - 1) * (z l - 1)) (fun l => ltac:(have := ry l; have := rz l; nra)).
  have -> : \sum_l ((y l - 1) * (z l - 1)) = \sum_l (y l * z l + (-1 * y l + (-1 * z l + 1))).
    by apply: sum_ext => l; ring.
  by rewrite !sumD !sumZ sum_const -/U -/V -/Q -/n; lra.
have q2 : E * (U + V) - n * E ^ 2 <= Q.
  have := sum_ge0 (f := fun l => (E - y l) * (E - z l)) (fun l => ltac:(have := ry l; have := rz l; nra)).
  have -> : \sum_l ((E - y l) * (E - z l)) = \sum_l (y l * z l + (- E * y l + (- E * z l + E ^ 2))).
    by apply: sum_ext => l; ring.
  by rewrite !sumD !sumZ sum_const -/U -/V -/Q -/n; lra.
have := slowest_sums n2 (conj m0 mm1) Ep hU hV q1 q2; rewrite -/least => bound.
have iE : 0 < / (E - 1) by apply: Rinv_0_lt_compat; lra.
have Y := slowest_half c0 (conj m0 mm1) u01 v01 yu zv au bv; rewrite -/U -/Q -[exp c]/E -/n in Y.
have Z := slowest_half c0 (conj m0 mm1) v01 u01 zv yu bv au.
rewrite -/V (sum_ext (fun l => Rmult_comm (z l) (y l))) -/Q -[exp c]/E -/n in Z.
have iU : 0 < / U by apply: Rinv_0_lt_compat. have iV : 0 < / V by apply: Rinv_0_lt_compat.
have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iU) Y; have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iV) Z.
have := Rmult_le_compat_l (1 - m) _ _ ltac:(lra) bound.
have -> : (1 - m) * (2 * m + ((Q + m * E * n) * (/ U + / V) - 2 - 2 * m * E) / (E - 1)) =
  (1 - m) * (m * U + (Q - U - m * E * (U - n)) / (E - 1)) * / U +
  (1 - m) * (m * V + (Q - V - m * E * (V - n)) / (E - 1)) * / V by field; lra.
lra.
Qed.

(* Twin: not as fast as the simplex alone; two clusters of two, overlap 3/5, beta = 5.
   Twin of: softmax_slowest. *)
Theorem not_slowest_simplex : ~ forall (I K : finType) (x : I -> K -> R) beta i j,
  let n := INR #|I| in let m := dot (x i) (x j) in (forall l, norm (x l) = 1) -> 0 <= beta -> i != j -> 0 <= m ->
  (forall k l, m <= dot (x k) (x l)) ->
  2 * (1 - m) * (((n - 1) * m + 1) / (exp (beta * (1 - m)) + n - 1)) <= rate beta x i j.
Proof.
pose x (i : bool * bool) (k : bool) : R := if i.1 then if k then 1 else 0 else if k then 3 / 5 else 4 / 5.
have hx k l : dot (x k) (x l) = if k.1 == l.1 then 1 else 3 / 5.
  by rewrite /dot big_bool /x; case: (k.1); case: (l.1) => /=; field.
pose T := prod_finType bool_finType bool_finType; have n4 : INR #|T| = 4 by rewrite card_prod card_bool /=; lra.
move=> /(_ _ _ x 5 (true, true) (false, true)); rewrite hx /= n4.
have half : 2 * (\big[Rplus/0]_(l : T) (if l.1 then 1 else 0)) = INR #|T|.
  by rewrite n4 sum_pairs !big_bool /=; lra.
rewrite (clusters_rate 5 half hx) // => h.
have big : 2 < exp (5 * (1 - 3 / 5)) by have := exp_ineq1 (5 * (1 - 3 / 5)) ltac:(lra); lra.
have [_ [k _]] := @clusters_slower 4 (3 / 5) 5 ltac:(lra).
set E := exp _ in big h k; have := proj2 k ltac:(lra).
suff : 2 * (1 - 3 / 5) * (((4 - 1) * (3 / 5) + 1) / (E + 4 - 1)) <= 2 * (1 - 3 / 5) * ((1 + 3 / 5) / (1 + E)) by lra.
apply: h => // [l|||p q]; [|lra|lra|by rewrite hx; case: (_ == _); lra].
by rewrite /norm hx eqxx sqrt_1.
Qed.

(* Twin: nor one per cent faster; two orthogonal tokens.
   Twin of: softmax_slowest. *)
Theorem not_slowest_larger : ~ forall (I K : finType) (x : I -> K -> R) beta i j,
  let n := INR #|I| in let m := dot (x i) (x j) in let E := exp (beta * (1 - m)) in
  (forall l, norm (x l) = 1) -> 0 <= beta -> i != j -> 0 <= m -> (forall k l, m <= dot (x k) (x l)) ->
  101 / 100 * (2 * (1 - m) * Rmin (((n - 1) * m + 1) / (E + n - 1)) ((1 + m) / (1 + E))) <= rate beta x i j.
Proof.
pose x (i k : bool) : R := if k == i then 1 else 0.
have hx : simplex x 0 by move=> k l; rewrite /dot big_bool /x; case: k; case: l => /=; ring.
have unit l : norm (x l) = 1 by rewrite /norm hx eqxx sqrt_1.
have m0 : dot (x true) (x false) = 0 by rewrite hx.
have acute k l : dot (x true) (x false) <= dot (x k) (x l) by rewrite m0 hx; case: (l == k); lra.
have [_ [_ [e _]]] := softmax_slowest unit (Rle_refl 0) (isT : true != false) ltac:(rewrite m0; lra) acute.
move=> /(_ _ _ x 0 true false unit (Rle_refl 0) isT ltac:(rewrite m0; lra) acute).
have := e; rewrite m0 => /(_ hx ltac:(lra)) ->; rewrite card_bool Rmult_0_l exp_0.
by rewrite Rmin_left /=; lra.
Qed.
