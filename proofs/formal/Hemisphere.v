(* Tokens of an open hemisphere in its chart: there they average each other, so that the largest distance falls by the
   overlap of two rows, and all heights stay.

   Reader's checklist: [height x i] is <x_i, w>, [chart x i] is x_i / <x_i, w>; weights W are any numbers, not negative
   in [pair_contracts] and below; the velocity is that of [Simplex], with the value matrix the identity. The derivative
   of the diameter, and consensus in continuous time, are in [Consensus]; [steps_contract] is consensus of steps in the
   chart. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Jacobian Diameter Duality Collapse Simplex.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

(* Points share an open hemisphere, or some of them have the origin in their hull: there is no third case. *)
Theorem hemisphere_or_hull (I K : finType) (x : I -> K -> R) : inhabited I ->
  ((exists w, forall i, 0 < dot (x i) w) \/ (exists p, law p /\ forall k, mean p (fun i => x i k) = 0)) /\
  ~ ((exists w, forall i, 0 < dot (x i) w) /\ (exists p, law p /\ forall k, mean p (fun i => x i k) = 0)).
Proof.
move=> point; split; last first.
  case=> [[w hw] [p [hp z]]]; have : dot (fun k => mean p (fun i => x i k)) w = 0.
    by rewrite /dot big1 // => k _; rewrite z; ring.
  rewrite dot_mean => e; have h i : 0 <= p i * dot (x i) w.
    by apply: Rmult_le_pos; [apply: (proj1 hp) | left].
  have zero : forall i, p i = 0.
    by move=> i; have := sum_eq0 h e i => k; case: (Rmult_integral _ _ k) => // q; have := hw i; lra.
  by have := proj2 hp; rewrite big1 => [|i _]; [lra | apply: zero].
case: (farkas (fun i k => - x i k) (fun _ : I => -1)) => [[w hw]|[y [y0 [ya yb]]]]; [left | right].
  exists w => i; have := hw i; have -> : dot (fun k => - x i k) w = - dot (x i) w.
    have -> : - dot (x i) w = -1 * dot (x i) w by ring.
    by rewrite /dot -sumZ; apply: sum_ext => k; ring.
  by lra.
have pos : 0 < \sum_i y i by move: yb; rewrite sumZr; lra.
exists (fun i => / (\sum_j y j) * y i); split=> [|k].
  split=> [i|]; first by apply: Rmult_le_pos => //; left; apply: Rinv_0_lt_compat.
  by rewrite sumZ Rinv_l; lra.
have -> : mean (fun i => / (\sum_j y j) * y i) (fun i => x i k) = - / (\sum_j y j) * (\sum_i (y i * - x i k)).
  by rewrite /mean -sumZ; apply: sum_ext => i; ring.
by rewrite ya; ring.
Qed.

(* Independent points, of which there are then no more than dimensions, share one, whatever their signs.
   Part of: cone.vacuous. *)
Theorem independent_share (I K : finType) (x : I -> K -> R) (s : I -> R) :
  (forall y : I -> R, (forall k, \sum_i (y i * x i k) = 0) -> forall i, y i = 0) ->
  exists w, forall i, dot (x i) w = s i.
Proof.
move=> free; case: (farkas (fun (c : I * bool) k => (if c.2 then 1 else -1) * x c.1 k)
  (fun c => (if c.2 then 1 else -1) * s c.1)) => [[w hw]|[y [_ [ya yb]]]].
  exists w => i; have := hw (i, true); have := hw (i, false); rewrite /= !dotZl; lra.
exfalso; have two (f : I * bool -> R) : \sum_c f c = \sum_i (f (i, true) + f (i, false)).
  by rewrite sum_pairs; apply: sum_ext => i; rewrite big_bool.
have z : forall i, y (i, true) - y (i, false) = 0.
  apply: free => k; rewrite -[RHS](ya k) two; apply: sum_ext => i /=; ring.
move: yb; rewrite two big1 => [|i _]; first by lra.
by rewrite /= (_ : y (i, true) = y (i, false)); [ring | have := z i; lra].
Qed.

Section Hemisphere.
Variables I K : finType.
Implicit Types (x y : I -> K -> R) (W u : I -> I -> R) (w : K -> R) (i j : I).

Definition height w x i := dot (x i) w.
Definition chart w x i k := x i k / height w x i.
Definition drawn u y i k := \sum_j (u i j * (y j k - y i k)).

(* The chart lies on the plane <y, w> = 1. *)
Lemma chart_plane w x i : height w x i <> 0 -> dot (chart w x i) w = 1.
Proof.
move=> h; have -> : dot (chart w x i) w = / height w x i * dot (x i) w.
  by rewrite -dotZl; apply: dot_ext => // k; rewrite /chart /Rdiv; ring.
by rewrite -/(height w x i); field.
Qed.

(* In the chart the weights are multiplied by ratios of heights.
   Part of: cone.chart. *)
Theorem chart_velocity (x : R -> I -> K -> R) W w s : (forall j, 0 < height w (x s) j) ->
  (forall i k, is_derive (fun t => x t i k) s (velocity W (x s) i k)) ->
  forall i k, is_derive (fun t => chart w (x t) i k) s
    (drawn (fun i j => W i j * (height w (x s) j / height w (x s) i)) (chart w (x s)) i k).
Proof.
move=> pos hd i k; have a0 := pos i.
have dh : is_derive (fun t => height w (x t) i) s (dot (velocity W (x s) i) w).
  apply: is_derive_sum => l.
  refine (@eq_ind R _ (is_derive _ s) (is_derive_mult _ _ s _ _ (hd i l) (is_derive_const (w l) s) Rmult_comm) _ _).
  by rewrite /plus /mult /zero /=; ring.
refine (@eq_ind R _ (is_derive _ s) (is_derive_div _ _ s _ _ (hd i k) dh (Rgt_not_eq _ _ a0)) _ _).
have pw : dot (pull W (x s) i) w = \sum_j (W i j * height w (x s) j) := dot_mean (W i) (x s) w.
have -> : dot (velocity W (x s) i) w = \sum_j (W i j * height w (x s) j) -
    dot (pull W (x s) i) (x s i) * height w (x s) i by rewrite /velocity dotBl dotZl pw.
have -> : drawn (fun i j => W i j * (height w (x s) j / height w (x s) i)) (chart w (x s)) i k =
    / height w (x s) i * pull W (x s) i k -
    x s i k * / height w (x s) i * / height w (x s) i * \sum_j (W i j * height w (x s) j).
  rewrite /pull -!sumZ -sumB; apply: sum_ext => j; rewrite /chart.
  by field; have := pos j; split; apply: Rgt_not_eq.
by rewrite /velocity; field; apply: Rgt_not_eq.
Qed.

(* The two tokens that are furthest apart come together at least by the overlap of their rows.
   Part of: cone.chart. *)
Theorem pair_contracts u y i k : (forall j, 0 <= u i j) -> (forall j, 0 <= u k j) ->
  (forall j l, norm (fun m => y j m - y l m) <= norm (fun m => y i m - y k m)) ->
  let z := fun m => y i m - y k m in
  dot z (fun m => drawn u y i m - drawn u y k m) <= - (\sum_j Rmin (u i j) (u k j)) * dot z z.
Proof.
move=> ui uk far z.
have near j l : dot z (fun m => y j m - y l m) <= dot z z.
  apply: Rle_trans (cauchy_schwarz _ _) _; rewrite -norm_sq; apply: Rmult_le_compat_l; [exact: norm_ge0 | exact: far].
have flat v l : dot z (drawn v y l) = - \sum_j (v l j * dot z (fun m => y l m - y j m)).
  have -> : - (\sum_j (v l j * dot z (fun m => y l m - y j m))) = \sum_j (v l j * dot (fun m => y j m - y l m) z).
    have -> : - (\sum_j (v l j * dot z (fun m => y l m - y j m))) =
      -1 * \sum_j (v l j * dot z (fun m => y l m - y j m)) by ring.
    by rewrite -sumZ; apply: sum_ext => j; rewrite dotBr dotBl !(dotC z); ring.
  by rewrite dotC; apply: (dot_mean (v l) (fun j m => y j m - y l m) z).
rewrite dotBr !flat; set D := dot z z.
have -> : - (\sum_j (u i j * dot z (fun m => y i m - y j m))) - - (\sum_j (u k j * dot z (fun m => y k m - y j m))) =
    \sum_j (-1 * (u i j * dot z (fun m => y i m - y j m)) + u k j * dot z (fun m => y k m - y j m)).
  by rewrite sumD sumZ; ring.
have -> : - (\sum_j Rmin (u i j) (u k j)) * D = \sum_j (- D * Rmin (u i j) (u k j)) by rewrite sumZ; ring.
apply: sum_le => j; set t := dot z (fun m => y i m - y j m).
have e : dot z (fun m => y k m - y j m) = t - D by rewrite /t /D /z !dotBr; ring.
have t1 : t <= D := near i j; have t0 : 0 <= t by have := near j k; rewrite /t /D /z !dotBr; lra.
rewrite e; have m1 := Rmin_l (u i j) (u k j); have m2 := Rmin_r (u i j) (u k j).
have := Rmult_le_compat_r t _ _ t0 m1; have := Rmult_le_compat_r (D - t) _ _ ltac:(lra) m2; lra.
Qed.

(* Steps of size h in the chart contract the diameter by what the rows have in common.
   Part of: cone.consensus. *)
Theorem steps_contract (y : nat -> I -> K -> R) (u : nat -> I -> I -> R) h eps D : 0 <= h ->
  (forall n i j, eps <= h * u n i j) -> (forall n i, h * (\sum_j u n i j) <= 1 - eps + h * u n i i) -> 0 <= eps ->
  (forall n i k, y n.+1 i k = y n i k + h * drawn (u n) (y n) i k) ->
  (forall i j, norm (fun k => y O i k - y O j k) <= D) ->
  forall n i j, norm (fun k => y n i k - y n j k) <= (1 - INR #|I| * eps) ^ n * D.
Proof.
move=> h0 low own e0 step start.
pose P n i j := h * u n i j + (if j == i then 1 - h * (\sum_l u n i l) else 0).
have low' n i j : eps <= P n i j.
  by rewrite /P; case: eqP => [->|_]; [have := own n i; lra | have := low n i j; lra].
have hP n i : law (P n i).
  split=> [j|]; first by apply: Rle_trans (low' n i j).
  by rewrite /P sumD sumZ -big_mkcond big_pred1_eq; ring.
have layer n i k : y n.+1 i k = mean (P n i) (fun j => y n j k).
  rewrite step /mean /P /drawn -sumZ.
  have -> : \sum_j ((h * u n i j + (if j == i then 1 - h * (\sum_l u n i l) else 0)) * y n j k) =
      \sum_j (h * (u n i j * (y n j k - y n i k)) + (h * y n i k * u n i j +
        (if j == i then (1 - h * (\sum_l u n i l)) * y n i k else 0))).
    by apply: sum_ext => j; case: eqP => [->|_]; ring.
  by rewrite !sumD (sumZ (h * y n i k)) -big_mkcond big_pred1_eq; ring.
move=> n i j; have := layers_minimum hP (eps := fun=> eps) low' layer start n i j.
have -> // : \prod_(l < n) (1 - INR #|I| * eps) = (1 - INR #|I| * eps) ^ n.
by rewrite big_const card_ord; elim: n => [|n ih] //=; rewrite ih.
Qed.
End Hemisphere.

(* Twin: without the ratio of heights, two tokens on the plane, at heights 1 and 1/2.
   Twin of: chart_velocity. *)
Theorem not_chart_bare : ~ forall (I K : finType) (x : I -> K -> R) (W : I -> I -> R) (w : K -> R) i k,
  (forall j, 0 < height w x j) ->
  velocity W x i k / height w x i - x i k * dot (velocity W x i) w / height w x i ^ 2 =
  drawn W (chart w x) i k.
Proof.
pose x (b c : bool) : R := if c then if b then 1 else / 2 else if b then 0 else 1.
pose w (c : bool) : R := if c then 1 else 0.
have hh b : height w x b = if b then 1 else / 2 by rewrite /height /dot big_bool /x /w; case: b => /=; field.
move=> h; have := h _ _ x (fun _ _ => 1) w true false; rewrite hh => /(_ (fun b => ltac:(rewrite hh; case: b; lra))).
rewrite /velocity /drawn /chart /pull /dot !big_bool !hh /x /w /=; lra.
Qed.

(* Twin: one token more than dimensions; 1 and -1 on the line.
   Twin of: independent_share, hemisphere_or_hull. *)
Theorem not_one_more : ~ forall (I K : finType) (x : I -> K -> R), (forall i, norm (x i) = 1) ->
  exists w, forall i, 0 < dot (x i) w.
Proof.
have s1 (f : unit -> R) : \sum_k f k = f tt by rewrite (big_pred1 tt) //; case.
move=> h; case: (h [finType of bool] [finType of unit] (fun b _ => if b then 1 else -1)) => [b|w hw].
  by rewrite /norm /dot s1; case: b; [rewrite Rmult_1_l sqrt_1 | have -> : -1 * -1 = 1 by [ring]; rewrite sqrt_1].
by have := hw true; have := hw false; rewrite /dot !s1; lra.
Qed.

(* Twin: the larger of two weights does not count; two tokens that do not see each other.
   Twin of: pair_contracts. *)
Theorem not_contracts_alone : ~ forall (I K : finType) (u : I -> I -> R) (y : I -> K -> R) i k,
  (forall j, 0 <= u i j) -> (forall j, 0 <= u k j) ->
  (forall j l, norm (fun m => y j m - y l m) <= norm (fun m => y i m - y k m)) ->
  dot (fun m => y i m - y k m) (fun m => drawn u y i m - drawn u y k m) <=
  - (\sum_j Rmax (u i j) (u k j)) * dot (fun m => y i m - y k m) (fun m => y i m - y k m).
Proof.
have s1 (f : unit -> R) : \sum_k f k = f tt by rewrite (big_pred1 tt) //; case.
have n1 (f : unit -> R) : norm f = Rabs (f tt) by rewrite /norm /dot s1; exact: sqrt_Rsqr_abs.
move=> h; have := h [finType of bool] [finType of unit] (fun b c => if b == c then 1 else 0)
  (fun b _ => if b then 1 else 0) true false.
move=> /(_ (fun j => ltac:(case: eqP => _; lra)) (fun j => ltac:(case: eqP => _; lra))) k.
have := k (fun j l => ltac:(rewrite !n1 Rminus_0_r Rabs_R1; apply: Rabs_le; case: j; case: l; lra)).
rewrite /dot !s1 /drawn !big_bool /= (Rmax_left 1 0) ?(Rmax_right 0 1); lra.
Qed.

(* Twin: one token more than there are; 1 and 0 on the line, which a step of a quarter brings to 3/4 and 1/4.
   Twin of: steps_contract. *)
Theorem not_steps_of_one_more : ~ forall (I K : finType) (y : nat -> I -> K -> R) (u : nat -> I -> I -> R) h eps D,
  0 <= h -> (forall n i j, eps <= h * u n i j) -> (forall n i, h * (\sum_j u n i j) <= 1 - eps + h * u n i i) ->
  0 <= eps -> (forall n i k, y n.+1 i k = y n i k + h * drawn (u n) (y n) i k) ->
  (forall i j, norm (fun k => y O i k - y O j k) <= D) ->
  forall n i j, norm (fun k => y n i k - y n j k) <= (1 - (INR #|I| + 1) * eps) ^ n * D.
Proof.
have s1 (f : unit -> R) : \sum_k f k = f tt by rewrite (big_pred1 tt) //; case.
have n1 (f : unit -> R) : norm f = Rabs (f tt) by rewrite /norm /dot s1; exact: sqrt_Rsqr_abs.
pose y n (b : bool) (_ : unit) := if b then (1 + (/ 2) ^ n) / 2 else (1 - (/ 2) ^ n) / 2.
move=> h; have := h _ _ y (fun _ _ _ => 1) (/ 4) (/ 4) 1; rewrite card_bool /= => k.
have := k ltac:(lra) (fun _ _ _ => ltac:(lra)) (fun _ _ => ltac:(rewrite big_bool /=; lra)) ltac:(lra).
move=> /(_ (fun n b _ => ltac:(rewrite /drawn big_bool /y; case: b => /=; field))).
move=> /(_ (fun b c => ltac:(rewrite n1 /y /=; apply: Rabs_le; case: b; case: c; lra))) /(_ 1%N true false).
by rewrite n1 /y /= Rabs_pos_eq; lra.
Qed.
