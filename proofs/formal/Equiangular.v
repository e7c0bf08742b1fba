(* Tokens of equal overlaps keep them equal in time under attention on the sphere, and their overlap follows the scalar
   equation.

   Reader's checklist: [flow] is that of [Consensus], [simplex], [SA] and [USA] those of [Simplex]; beta and the overlap
   at time 0 are any real numbers for which there are such tokens, and a motion of them, which is not shown to exist.
   Uniqueness of solutions is not used as a theorem: the largest difference of two overlaps obeys Gronwall's inequality.
   *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Softmax Jacobian Barrier Simplex Consensus.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma abs_dot (K : finType) (u v : K -> R) : Rabs (dot u v) <= norm u * norm v.
Proof.
apply/Rabs_le_between; have := cauchy_schwarz u v; have := cauchy_schwarz (fun k => -1 * u k) v; rewrite dotZl.
by have -> : norm (fun k => -1 * u k) = norm u; [congr sqrt; apply: sum_ext => k; ring | lra].
Qed.

Lemma abs_mult_le (p q P Q : R) : Rabs p <= P -> Rabs q <= Q -> Rabs (p * q) <= P * Q.
Proof. by move=> hp hq; rewrite Rabs_mult; apply: Rmult_le_compat => //; apply: Rabs_pos. Qed.

Section Overlaps.
Variables I K : finType.
Implicit Types (x : R -> I -> K -> R) (W : I -> I -> R) (m s : I -> I -> R) (a b : I -> R) (i j k l : I).
Implicit Types (V : (I -> R) -> I -> R) (rho t D B L : R).

(* What the weights W make of the overlap of i and j, if m are the overlaps. *)
Definition slope W m i j := \sum_l (W i l * (m l j - m l i * m i j) + W j l * (m l i - m l j * m i j)).
Definition equal rho i j := if j == i then 1 else rho.
Definition overlap x t i j := dot (x t i) (x t j).

Lemma overlap_slope x (W : R -> I -> I -> R) t i j : flow x W -> 0 <= t ->
  is_derive (fun u => overlap x u i j) t (slope (W t) (overlap x t) i j).
Proof.
move=> fl t0; have flat k v : dot (pull (W t) (x t) k) v = \sum_l (W t k l * dot (x t l) v).
  exact: dot_mean (W t k) (x t) v.
have -> : slope (W t) (overlap x t) i j =
    dot (velocity (W t) (x t) i) (x t j) + dot (x t i) (velocity (W t) (x t) j).
  rewrite (dotC (x t i)) /velocity !dotBl !dotZl !flat -!sumZr -!sumB -sumD; apply: sum_ext => l.
  by rewrite /overlap (dotC (x t j) (x t i)); ring.
rewrite /dot -sumD; apply: is_derive_sum => l.
have di := proj2 (fl t t0 i) l; have dj := proj2 (fl t t0 j) l.
exact: (is_derive_mult _ _ t _ _ di dj Rmult_comm).
Qed.

(* At equal overlaps all slopes are one. *)
Lemma slope_equal W rho own other i j : (forall k l, W k l = if l == k then own else other) -> j != i ->
  slope W (equal rho) i j = 2 * other * (1 - rho) * ((INR #|I| - 1) * rho + 1).
Proof.
move=> hW ne; have ne' := negbTE ne; rewrite /slope.
have -> : \sum_l (W i l * (equal rho l j - equal rho l i * equal rho i j) +
      W j l * (equal rho l i - equal rho l j * equal rho i j)) =
    \sum_l (2 * other * rho * (1 - rho) + ((if l == i then other * (1 - rho) * (1 - rho) else 0) +
      (if l == j then other * (1 - rho) * (1 - rho) else 0))).
  apply: sum_ext => l; rewrite !hW /equal ne' !(eq_sym _ l).
  case: (eqVneq l i) => [->|li]; first by rewrite eq_sym ne'; ring.
  by case: (eqVneq l j) => [_|_]; ring.
by rewrite !sumD !sum_if sum_const; ring.
Qed.

(* Slopes of near overlaps and weights are near. *)
Lemma slope_near W W' m s D B L i j : 0 <= D -> (forall k l, Rabs (W k l) <= B) ->
  (forall k l, Rabs (W k l - W' k l) <= L * D) -> (forall k l, Rabs (m k l) <= 1) -> (forall k l, Rabs (s k l) <= 1) ->
  (forall k l, Rabs (m k l - s k l) <= D) -> Rabs (slope W m i j - slope W' s i j) <= INR #|I| * (6 * B + 4 * L) * D.
Proof.
move=> D0 hB hL hm hs hD; rewrite /slope -sumB.
have one k l p q : Rabs (W k l * (m l p - m l q * m i j) - W' k l * (s l p - s l q * s i j)) <= (3 * B + 2 * L) * D.
  have -> : W k l * (m l p - m l q * m i j) - W' k l * (s l p - s l q * s i j) =
    W k l * ((m l p - s l p) - (m l q * (m i j - s i j) + s i j * (m l q - s l q))) +
    (W k l - W' k l) * (s l p - s l q * s i j) by ring.
  apply: Rle_trans (Rabs_triang _ _) _.
  have -> : (3 * B + 2 * L) * D = B * (D + (1 * D + 1 * D)) + L * D * (1 + 1 * 1) by ring.
  apply: Rplus_le_compat; apply: abs_mult_le => //; rewrite /Rminus.
    apply: Rle_trans (Rabs_triang _ _) _; rewrite Rabs_Ropp; apply: Rplus_le_compat; first exact: hD.
    by apply: Rle_trans (Rabs_triang _ _) _; apply: Rplus_le_compat; apply: abs_mult_le => //; apply: hD.
  by apply: Rle_trans (Rabs_triang _ _) _; rewrite Rabs_Ropp; apply: Rplus_le_compat => //; apply: abs_mult_le.
apply: Rle_trans (sum_abs _) _; have -> : INR #|I| * (6 * B + 4 * L) * D = INR #|I| * ((6 * B + 4 * L) * D) by ring.
rewrite -sum_const; apply: sum_le => l.
have -> : W i l * (m l j - m l i * m i j) + W j l * (m l i - m l j * m i j) -
    (W' i l * (s l j - s l i * s i j) + W' j l * (s l i - s l j * s i j)) =
  W i l * (m l j - m l i * m i j) - W' i l * (s l j - s l i * s i j) +
    (W j l * (m l i - m l j * m i j) - W' j l * (s l i - s l j * s i j)) by ring.
apply: Rle_trans (Rabs_triang _ _) _; have := one i l j i; have := one j l i j; lra.
Qed.

(* Weights V of a row of overlaps that are bounded and Lipschitz on it, and alike for equal overlaps. *)
Lemma equal_stay x V rho B L (own other : R -> R) :
  (forall a, (forall l, Rabs (a l) <= 1) -> forall l, Rabs (V a l) <= B) ->
  (forall a b D, (forall l, Rabs (a l) <= 1) -> (forall l, Rabs (b l) <= 1) -> (forall l, Rabs (a l - b l) <= D) ->
    forall l, Rabs (V a l - V b l) <= L * D) ->
  (forall r i l, V (equal r i) l = if l == i then own r else other r) ->
  flow x (fun t i => V (overlap x t i)) -> simplex (x 0) rho ->
  exists r : R -> R, forall t, 0 <= t -> simplex (x t) (r t).
Proof.
move=> bound lip alike fl start; pose W t i := V (overlap x t i).
have one t i j : 0 <= t -> Rabs (overlap x t i j) <= 1.
  by move=> t0; have := abs_dot (x t i) (x t j); rewrite !(proj1 (fl t t0 _)) Rmult_1_l.
case: (pickP (fun p : I * I => p.1 != p.2)) => [[i0 k0] /= ne0|none]; last first.
  exists (fun=> 0) => t t0 i j; have := none (i, j) => /= /negbFE /eqP ->.
  by rewrite eqxx -norm_sq (proj1 (fl t t0 j)); ring.
exists (fun t => overlap x t i0 k0).
pose d (p : I * I) t := if p.1 == p.2 then 0 else overlap x t p.1 p.2 - overlap x t i0 k0.
pose v (p : I * I) t := if p.1 == p.2 then 0 else slope (W t) (overlap x t) p.1 p.2 - slope (W t) (overlap x t) i0 k0.
pose C := 2 * (INR #|I| * (6 * B + 4 * L)).
pose sgn (b : bool) : R := if b then 1 else -1.
pose f (a : (I * I) * bool) t := exp (- C * t) * (sgn a.2 * d a.1 t).
have df c t : 0 <= t -> is_derive (f c) t (exp (- C * t) * (sgn c.2 * (v c.1 t - C * d c.1 t))).
  move=> t0; have de : is_derive (fun t => exp (- C * t)) t (- C * exp (- C * t)) by auto_derive => //; ring.
  have dd : is_derive (d c.1) t (v c.1 t).
    rewrite /d /v; case: (c.1.1 == c.1.2); first exact: is_derive_const.
    by apply: is_derive_minus; apply: overlap_slope.
  refine (@eq_ind R _ (is_derive _ t) (is_derive_mult _ _ t _ _ de (is_derive_scal _ t (sgn c.2) _ dd) Rmult_comm) _ _).
  by rewrite /plus /mult /=; ring.
have same t k : 0 <= t -> overlap x t k k = 1 by move=> t0; rewrite /overlap -norm_sq (proj1 (fl t t0 k)); ring.
have zero p t : 0 <= t -> d p t = 0.
  move=> t0; suff low c : f c t <= 0.
    have e0 := exp_pos (- C * t); have := low (p, true); have := low (p, false); rewrite /f /sgn /= => h h'.
    by apply: Rle_antisym; apply: (Rmult_le_reg_l _ _ _ e0); lra.
  apply: (largest_falls (M := 0) (B := 1) _ df) => // {t0 t c} [|c|c t t0 far _]; first by lra.
    rewrite /f (_ : d c.1 0 = 0) ?Rmult_0_r; first by lra.
    rewrite /d; case: (eqVneq c.1.1 c.1.2) => // n.
    by rewrite /overlap !start eq_sym (negbTE n) eq_sym (negbTE ne0); ring.
  have e0 := exp_pos (- C * t); set D := sgn c.2 * d c.1 t.
  have near q : Rabs (d q t) <= D.
    have := Rmult_le_reg_l _ _ _ e0 (far (q, true)); have := Rmult_le_reg_l _ _ _ e0 (far (q, false)).
    by rewrite /sgn /= -/D => h h'; apply/Rabs_le_between; lra.
  have D0 : 0 <= D := Rle_trans _ _ _ (Rabs_pos _) (near c.1).
  suff h : sgn c.2 * v c.1 t <= C * D.
    have -> : exp (- C * t) * (sgn c.2 * (v c.1 t - C * d c.1 t)) =
      exp (- C * t) * (sgn c.2 * v c.1 t) - exp (- C * t) * (C * D) by rewrite /D; ring.
    by have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ e0) h; lra.
  apply: Rle_trans (Rle_abs _) _; rewrite Rabs_mult (_ : Rabs (sgn c.2) = 1); last first.
    by rewrite /sgn; case: c.2; rewrite ?Rabs_Ropp Rabs_R1.
  rewrite Rmult_1_l /v; case: (eqVneq c.1.1 c.1.2) => [e|n].
    by rewrite Rabs_R0 /D /d e eqxx; lra.
  set r := overlap x t i0 k0; have r1 : Rabs r <= 1 := one t i0 k0 t0.
  have er k l : Rabs (equal r k l) <= 1 by rewrite /equal; case: (l == k); rewrite ?Rabs_R1; lra.
  have close k l : Rabs (overlap x t k l - equal r k l) <= D.
    rewrite /equal; case: (eqVneq l k) => [->|lk]; first by rewrite same // Rminus_eq_0 Rabs_R0.
    by have := near (k, l); rewrite /d /= eq_sym (negbTE lk).
  have close_to k l := @slope_near (W t) (fun k => V (equal r k)) (overlap x t) (equal r) D B L k l D0
    (fun k l => bound _ (fun l => one t k l t0) l) (fun k l => lip _ _ _ (fun l => one t k l t0) (er k) (close k) l)
    (fun k l => one t k l t0) er close.
  have := close_to c.1.1 c.1.2; have := close_to i0 k0.
  have al := alike r; rewrite !(slope_equal r al) ?(eq_sym c.1.2) ?(eq_sym k0) //.
  move=> /Rabs_le_between h /Rabs_le_between h'; apply/Rabs_le_between; rewrite /C; lra.
move=> t t0 i j; case: (eqVneq j i) => [->|n]; first by rewrite -norm_sq (proj1 (fl t t0 i)); ring.
by have := zero (i, j) t t0; rewrite /d /= eq_sym (negbTE n) /overlap; lra.
Qed.

Lemma exp_near (u v c : R) : Rabs u <= c -> Rabs v <= c -> Rabs (exp u - exp v) <= exp c * Rabs (u - v).
Proof.
have half p q : p <= c -> exp p - exp q <= exp c * Rabs (p - q).
  move=> pc; have e0 := exp_pos p; have k := exp_ineq1_le (q - p).
  have e1 : exp q = exp p * exp (q - p) by rewrite -exp_plus; congr exp; ring.
  have ec : exp p <= exp c by case: (Rle_lt_or_eq_dec _ _ pc) => [/exp_increasing|->]; lra.
  have := Rle_abs (p - q); have := Rabs_pos (p - q); have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ e0) k; nra.
move=> /Rabs_le_between hu /Rabs_le_between hv; apply/Rabs_le_between.
have := half u v ltac:(lra); have := half v u ltac:(lra); rewrite (Rabs_minus_sym v u); lra.
Qed.

Lemma softmax_near beta a b D l : inhabited I -> (forall k, Rabs (a k - b k) <= D) ->
  Rabs (softmax (fun k => beta * a k) l - softmax (fun k => beta * b k) l) <= INR #|I| * Rabs beta * D.
Proof.
move=> point hD; have [o] := point; have D0 : 0 <= D := Rle_trans _ _ _ (Rabs_pos _) (hD o).
have n1 : 1 <= INR #|I| by apply: (le_INR 1); apply/leP/card_gt0P; exists o.
have b0 := Rabs_pos beta; pose z k := softmax (fun k => beta * a k) k - softmax (fun k => beta * b k) k.
apply: Rle_trans (coordinate z l) _; have bD : 0 <= Rabs beta * D by apply: Rmult_le_pos.
apply: Rsqr_incr_0_var; last by rewrite Rmult_assoc; apply: Rmult_le_pos => //; lra.
rewrite /Rsqr norm_sq; apply: Rle_trans (softmax_lipschitz _ _ point) _.
have : dot (fun k => beta * a k - beta * b k) (fun k => beta * a k - beta * b k) <=
    INR #|I| * (Rabs beta * D * (Rabs beta * D)).
  rewrite -sum_const; apply: sum_le => k; have -> : beta * a k - beta * b k = beta * (a k - b k) by ring.
  have h := abs_mult_le (Rle_refl (Rabs beta)) (hD k); apply: Rle_trans (Rle_abs _) _.
  by apply: abs_mult_le.
set q := Rabs beta * D in bD *; have -> : INR #|I| * Rabs beta * D = INR #|I| * q by rewrite /q; ring.
move=> h; have g := dot_ge0 (fun k => beta * a k - beta * b k).
apply: Rle_trans (_ : INR #|I| * (q * q) <= _); first by lra.
have := Rmult_le_pos _ _ (Rle_0_sqr q) (_ : 0 <= INR #|I| * (INR #|I| - 1)); rewrite /Rsqr => k.
by have := k ltac:(nra); lra.
Qed.

Lemma softmax_equal beta rho i l : softmax (fun k => beta * equal rho i k) l =
  if l == i then exp beta / (exp beta + (INR #|I| - 1) * exp (beta * rho))
  else exp (beta * rho) / (exp beta + (INR #|I| - 1) * exp (beta * rho)).
Proof.
have e : normaliser (fun k => beta * equal rho i k) = exp beta + (INR #|I| - 1) * exp (beta * rho).
  have -> : normaliser (fun k => beta * equal rho i k) =
      \sum_k (exp (beta * rho) + (if k == i then exp beta - exp (beta * rho) else 0)).
    by apply: sum_ext => k; rewrite /equal; case: (k == i); rewrite ?Rmult_1_r; ring.
  by rewrite sumD sum_if sum_const; ring.
by rewrite /softmax e /equal; case: (l == i); rewrite ?Rmult_1_r.
Qed.

(* Tokens of equal overlaps at time 0 have equal overlaps r at all times, and r follows the scalar equation, of softmax
   attention and of that without normalisation.
   Claim: equiangular.flow. *)
Theorem simplex_stays x rho beta : inhabited I -> simplex (x 0) rho -> let n := INR #|I| in
  (flow x (fun t => SA beta (x t)) -> exists r : R -> R, forall t, 0 <= t -> simplex (x t) (r t) /\
    forall i j, j != i -> is_derive (fun u => dot (x u i) (x u j)) t
      (2 * exp (beta * r t) * (1 - r t) * ((n - 1) * r t + 1) / (exp beta + (n - 1) * exp (beta * r t)))) /\
  (flow x (fun t => USA beta (x t)) -> exists r : R -> R, forall t, 0 <= t -> simplex (x t) (r t) /\
    forall i j, j != i -> is_derive (fun u => dot (x u i) (x u j)) t
      (2 / n * exp (beta * r t) * (1 - r t) * ((n - 1) * r t + 1))).
Proof.
move=> point start n; have [o] := point.
have n1 : 1 <= n by apply: (le_INR 1); apply/leP/card_gt0P; exists o.
split=> fl.
  suff [r hr] : exists r : R -> R, forall t, 0 <= t -> simplex (x t) (r t).
    exists r => t t0; split; first exact: hr.
    exact: (proj1 (simplex_field (W := fun y => SA beta y) beta (hr t t0) (fun i => proj2 (fl t t0 i)))).
  apply: (@equal_stay x (fun a => softmax (fun k => beta * a k)) rho 1 (n * Rabs beta) _ _ _ _
    (softmax_equal beta) fl start) => [a ha l|a b D ha hb hD l]; last exact: softmax_near.
  have [pos sum] := softmax_law point (fun k => beta * a k); have p := pos l.
  by have := sum_term l pos; rewrite sum => q; apply/Rabs_le_between; lra.
have i0 : 0 <= / n by left; apply: Rinv_0_lt_compat; lra.
have small a l : Rabs (a l) <= 1 -> Rabs (beta * a l) <= Rabs beta.
  by move=> h; rewrite -[X in _ <= X]Rmult_1_r; apply: abs_mult_le => //; lra.
have in0 : Rabs (/ n) = / n by apply: Rabs_right; lra.
have alike q i l : exp (beta * equal q i l) / n = if l == i then exp beta / n else exp (beta * q) / n.
  by rewrite /equal; case: (l == i); rewrite ?Rmult_1_r.
suff [r hr] : exists r : R -> R, forall t, 0 <= t -> simplex (x t) (r t).
  exists r => t t0; split; first exact: hr.
  exact: (proj2 (simplex_field (W := fun y => USA beta y) beta (hr t t0) (fun i => proj2 (fl t t0 i)))).
apply: (@equal_stay x (fun a l => exp (beta * a l) / n) rho (exp (Rabs beta) * / n)
  (exp (Rabs beta) * Rabs beta * / n) _ _ _ _ alike fl start) => [a ha l|a b D ha hb hD l].
  apply: abs_mult_le; last by rewrite in0; lra.
  have := small a l (ha l) => /Rabs_le_between [_ h]; rewrite Rabs_right; last by left; apply: exp_pos.
  by case: (Rle_lt_or_eq_dec _ _ h) => [/exp_increasing|->]; lra.
have -> : exp (beta * a l) / n - exp (beta * b l) / n = (exp (beta * a l) - exp (beta * b l)) * / n by field; lra.
have -> : exp (Rabs beta) * Rabs beta * / n * D = exp (Rabs beta) * (Rabs beta * D) * / n by ring.
apply: abs_mult_le; last by rewrite in0; lra.
apply: Rle_trans (exp_near (small a l (ha l)) (small b l (hb l))) _.
apply: Rmult_le_compat_l; first by left; apply: exp_pos.
have -> : beta * a l - beta * b l = beta * (a l - b l) by ring.
by apply: abs_mult_le => //; lra.
Qed.
End Overlaps.

(* Twin: the equation is not one per cent slower; the two tokens of [pair_flow], orthogonal at time 0.
   Twin of: simplex_stays. *)
Theorem not_simplex_slow : ~ forall (I K : finType) (x : R -> I -> K -> R) rho beta, inhabited I -> simplex (x 0) rho ->
  flow x (fun t => SA beta (x t)) -> let n := INR #|I| in exists r : R -> R, forall t, 0 <= t -> simplex (x t) (r t) /\
    forall i j, j != i -> is_derive (fun u => dot (x u i) (x u j)) t
      (99 / 100 * (2 * exp (beta * r t) * (1 - r t) * ((n - 1) * r t + 1) / (exp beta + (n - 1) * exp (beta * r t)))).
Proof.
have [fl _] := pair_flow (a := 1) (/ 2) ltac:(lra); set x := duo 1 (/ 2) in fl *.
have half : (fun t => SA 0 (x t)) = (fun _ _ _ => / 2).
  do 3!(apply: functional_extensionality => ?); rewrite /SA /softmax /normaliser big_bool !Rmult_0_l exp_0 /=; lra.
rewrite -half in fl; have o0 : dot (x 0 true) (x 0 false) = 0.
  by rewrite /dot big_bool /x /duo Rmult_0_r exp_0 /=; ring.
have start : simplex (x 0) 0.
  move=> i j; case: (eqVneq j i) => [->|ne]; first by rewrite -norm_sq (proj1 (fl 0 (Rle_refl 0) i)); ring.
  by case: i ne; case: j => // _; rewrite // dotC.
move=> /(_ _ _ x 0 0 (inhabits true) start fl) [r hr]; have [s d] := hr 0 (Rle_refl 0).
have r0 : r 0 = 0 by have := s true false; rewrite o0.
have [q hq] := proj1 (simplex_stays 0 (inhabits true) start) fl.
have [s' d'] := hq 0 (Rle_refl 0); have q0 : q 0 = 0 by have := s' true false; rewrite o0.
have := is_derive_unique _ _ _ (d true false isT); rewrite (is_derive_unique _ _ _ (d' true false isT)) r0 q0.
by rewrite card_bool !Rmult_0_r exp_0 /=; lra.
Qed.

(* Twin: overlaps that are not equal do not become so; three tokens at rest on the line.
   Twin of: simplex_stays. *)
Theorem not_simplex_from_anywhere : ~ forall (I K : finType) (x : R -> I -> K -> R) beta, inhabited I ->
  flow x (fun t => SA beta (x t)) -> exists r : R -> R, forall t, 0 <= t -> simplex (x t) (r t).
Proof.
pose x (t : R) (i : option bool) (k : unit) : R := if i is Some true then -1 else 1.
have d (u v : unit -> R) : dot u v = u tt * v tt by rewrite /dot (big_pred1 tt) //; case.
have xx t i : x t i tt * x t i tt = 1 by rewrite /x; case: i => [[]|]; ring.
have fl : flow x (fun t => SA 0 (x t)).
  move=> t _ i; split; first by rewrite /norm d xx sqrt_1.
  case; rewrite /velocity d (_ : _ - _ = 0); first exact: is_derive_const.
  by rewrite -[X in X - _]Rmult_1_r -(xx t i); ring.
move=> /(_ _ _ x 0 (inhabits None) fl) [r] /(_ 0 (Rle_refl 0)) h.
by have := h None (Some true); have := h None (Some false); rewrite !d /x /=; lra.
Qed.
