(* Total variation, the tanh bound and the contraction of the diameter.

   Two laws p, q on the same atoms have a coupling that leaves all but TV(p, q) in place. Hence means of points at
   most D apart are at most D TV apart. Softmax weights of scores whose difference oscillates by o have TV at most
   tanh(o / 4). Reader's checklist: [TV] is half of the l_1 distance; temperature one but in
   [softmax_TV_temperature], the scores being arbitrary; V = I. In lipschitz.diameter the form is bilinear; here any
   scores of its slope. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Softmax Transport Euclid.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Overlap.
Variable I : finType.
Implicit Types (p q s t : I -> R).

Definition TV p q := (\sum_i Rabs (p i - q i)) / 2.

(* The part that p has more of, and its mass. *)
Definition excess p q i := Rmax (p i - q i) 0.

Lemma TV_excess p q : law p -> law q -> TV p q = \sum_i excess p q i.
Proof.
move=> [_ sp] [_ sq]; rewrite /TV.
have -> : \sum_i Rabs (p i - q i) = \sum_i (2 * excess p q i - (p i - q i)).
  apply: sum_ext => i; rewrite /excess /Rmax; case: Rle_dec => h; [rewrite Rabs_left1 | rewrite Rabs_right]; lra.
by rewrite sumB sumZ sumB sp sq; field.
Qed.

Lemma TV_sym p q : TV p q = TV q p.
Proof. by rewrite /TV; congr (_ / _); apply: sum_ext => i; rewrite Rabs_minus_sym. Qed.

Lemma excess_ge0 p q i : 0 <= excess p q i. Proof. exact: Rmax_r. Qed.

(* The maximal coupling: what both have stays, the excesses are matched independently. *)
Definition maximal p q i j := (if j == i then Rmin (p i) (q i) else 0) + excess p q i * excess q p j / TV p q.

Lemma maximal_coupling p q : law p -> law q -> 0 < TV p q -> coupling p q (maximal p q).
Proof.
move=> hp hq h; split; [|split] => [i j|i|j].
- have m0 : 0 <= Rmin (p i) (q i) by apply: Rmin_glb; [apply: (proj1 hp) | apply: (proj1 hq)].
  have : 0 <= excess p q i * excess q p j / TV p q.
    by apply: Rmult_le_pos; [apply: Rmult_le_pos; apply: excess_ge0 | left; apply: Rinv_0_lt_compat].
  by rewrite /maximal; case: eqP => _; lra.
- rewrite /maximal sumD -big_mkcond big_pred1_eq.
  have -> : \sum_j (excess p q i * excess q p j / TV p q) = excess p q i / TV p q * \sum_j excess q p j.
    by rewrite -sumZ; apply: sum_ext => j; rewrite /Rdiv; ring.
  rewrite -TV_excess // TV_sym; have -> : excess p q i / TV q p * TV q p = excess p q i.
    by field; rewrite TV_sym; lra.
  by rewrite /excess /Rmax /Rmin; do 2 case: Rle_dec => ?; lra.
rewrite /maximal sumD.
have -> : \sum_i (if j == i then Rmin (p i) (q i) else 0) = Rmin (p j) (q j).
  by rewrite -big_mkcond (big_pred1 j) // => i; rewrite eq_sym.
have -> : \sum_i (excess p q i * excess q p j / TV p q) = excess q p j / TV p q * \sum_i excess p q i.
  by rewrite -sumZ; apply: sum_ext => i; rewrite /Rdiv; ring.
rewrite -TV_excess //; have -> : excess q p j / TV p q * TV p q = excess q p j by field; lra.
by rewrite /excess /Rmax /Rmin; do 2 case: Rle_dec => ?; lra.
Qed.

(* Its cost, if places are at most D apart. *)
Lemma maximal_cost p q (C : I -> I -> R) D : law p -> law q -> 0 < TV p q -> (forall i, C i i =
  0) -> (forall i j, C i j <= D) ->
  cost C (maximal p q) <= D * TV p q.
Proof.
move=> hp hq h C0 CD.
have -> : D * TV p q = \sum_i \sum_j (excess p q i * excess q p j / TV p q * D).
  have row i : \sum_j (excess p q i * excess q p j / TV p q * D) = excess p q i * D.
    have -> : excess p q i * D = (excess p q i / TV p q * D) * TV q p by rewrite (TV_sym q); field; lra.
    by rewrite (TV_excess hq hp) -sumZ; apply: sum_ext => j; rewrite /Rdiv; ring.
  by rewrite (sum_ext row) sumZr -TV_excess //; ring.
apply: sum_le => i; apply: sum_le => j; rewrite /maximal.
have g : 0 <= excess p q i * excess q p j / TV p q.
  by apply: Rmult_le_pos; [apply: Rmult_le_pos; apply: excess_ge0 | left; apply: Rinv_0_lt_compat].
case: eqP => [e|_]; last by rewrite Rplus_0_l; apply: Rmult_le_compat_l.
by rewrite e C0 Rmult_0_r; apply: Rmult_le_pos; [rewrite -{2}e | rewrite -(C0 i)].
Qed.

(* Density ratios between a and a kappa^2: TV <= (kappa - 1) / (kappa + 1). *)
Lemma TV_ratio p q a kappa : law p -> law q -> 1 <= kappa -> 0 < a ->
  (forall i, a * q i <= p i <= a * kappa ^ 2 * q i) -> TV p q * (kappa + 1) <= kappa - 1.
Proof.
move=> hp hq k1 a0 h; rewrite TV_excess //; set T := \sum_i excess p q i.
have a1 : a <= 1.
  have : \sum_i (a * q i) <= \sum_i p i by apply: sum_le => i; case: (h i).
  by rewrite sumZ (proj2 hp) (proj2 hq); lra.
have b1 : 1 <= a * kappa ^ 2.
  have : \sum_i p i <= \sum_i (a * kappa ^ 2 * q i) by apply: sum_le => i; case: (h i).
  by rewrite sumZ (proj2 hp) (proj2 hq); lra.
have chord i : a * (kappa ^ 2 - 1) * excess p q i <= (a * kappa ^ 2 - 1) * (p i - a * q i).
  case: (h i) => lo hi; rewrite /excess /Rmax; case: Rle_dec => _; last by nra.
  by rewrite Rmult_0_r; apply: Rmult_le_pos; lra.
have : a * (kappa ^ 2 - 1) * T <= (a * kappa ^ 2 - 1) * (1 - a).
  have -> : 1 - a = \sum_i (p i - a * q i) by rewrite sumB sumZ (proj2 hp) (proj2 hq); ring.
  by rewrite /T -!sumZ; apply: sum_le.
have sq := pow2_ge_0 (1 - a * kappa); move=> key.
case: (Req_dec kappa 1) => [k|k]; last by apply: (Rmult_le_reg_l (a * (kappa - 1))); nra.
have e : a = 1 by move: b1; rewrite k; lra.
suff : T = 0 by move=> ->; lra.
rewrite /T big1 // => i _; rewrite /excess Rmax_right //; have := h i; rewrite k e; lra.
Qed.

(* TV(softmax s, softmax t) <= tanh(osc(s - t) / 4).
   Part of: softmax.total-variation, lipschitz.rows. *)
Theorem softmax_TV s t o : inhabited I -> (forall i j, s i - t i - (s j - t j) <= o) ->
  TV (softmax s) (softmax t) <= tanh (o / 4).
Proof.
move=> point osc; case: (largest (fun i => t i - s i) point) => m hm.
set l := s m - t m; set u := l + o; have -> : o = u - l by rewrite /u; ring.
have h i : l <= s i - t i <= u by have := hm i; have := osc i m; rewrite /u /l; lra.
have lu : l <= u by have := h m; lra.
have ns := normaliser_gt0 point s; have nt := normaliser_gt0 point t.
set kappa := exp ((u - l) / 2); set a := exp l * (normaliser t / normaliser s).
have k1 : 1 <= kappa by have := exp_ineq1_le ((u - l) / 2); rewrite -/kappa; lra.
have a0 : 0 < a by apply: Rmult_lt_0_compat; [apply: exp_pos | apply: Rdiv_lt_0_compat].
have ak : a * kappa ^ 2 = exp u * (normaliser t / normaliser s).
  have -> : kappa ^ 2 = exp (u - l) by rewrite /kappa /= Rmult_1_r -exp_plus; congr exp; field.
  by rewrite /a Rmult_assoc (Rmult_comm _ (exp (u - l))) -Rmult_assoc -exp_plus; congr (exp _ * _); ring.
have ratio i : a * softmax t i <= softmax s i <= a * kappa ^ 2 * softmax t i.
  have e c : exp c * (normaliser t / normaliser s) * softmax t i = exp (c + t i) / normaliser s.
    by rewrite /softmax exp_plus; field; lra.
  rewrite ak /a !e /softmax; have i0 : 0 <= / normaliser s by left; apply: Rinv_0_lt_compat.
  have mono x y : x <= y -> exp x <= exp y by case=> [xy|->]; [left; apply: exp_increasing | right].
  by split; apply: Rmult_le_compat_r => //; apply: mono; have := h i; lra.
have bound := TV_ratio (softmax_law point s) (softmax_law point t) k1 a0 ratio.
have -> : tanh ((u - l) / 4) = (kappa - 1) / (kappa + 1); last first.
  by apply: (Rmult_le_reg_r (kappa + 1)); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
have -> : kappa = exp ((u - l) / 4) * exp ((u - l) / 4) by rewrite -exp_plus /kappa; congr exp; field.
rewrite /tanh /sinh /cosh exp_Ropp; have := exp_pos ((u - l) / 4) => e0; field; nra.
Qed.
End Overlap.

(* With a temperature, and where there is equality: two scores of opposite leads.
   Claim: softmax.total-variation. *)
Theorem softmax_TV_temperature (I : finType) (s t : I -> R) tau o : 0 < tau -> inhabited I ->
  (forall i j, s i - t i - (s j - t j) <= o) ->
  TV (softmax (fun i => s i / tau)) (softmax (fun i => t i / tau)) <= tanh (o / (4 * tau)) /\
  forall (x y : bool -> R) rho, 0 <= rho -> x true - x false = rho / 2 -> y true - y false = - (rho / 2) ->
    TV (softmax (fun i => x i / tau)) (softmax (fun i => y i / tau)) = tanh (rho / (4 * tau)).
Proof.
move=> t0 point h; split=> [|x y rho r0 hx hy].
  have -> : o / (4 * tau) = o / tau / 4 by field; lra.
  apply: softmax_TV => // i j; have := Rmult_le_compat_r (/ tau) _ _ (Rlt_le _ _ (Rinv_0_lt_compat _ t0)) (h i j).
  by rewrite /Rdiv; lra.
set z := rho / (4 * tau); have z0 : 0 <= z by apply: Rmult_le_pos => //; left; apply: Rinv_0_lt_compat; lra.
pose m (u : bool -> R) := (u true + u false) / 2 / tau.
have ex : x true / tau = m x + z /\ x false / tau = m x - z.
  by rewrite /z; have -> : rho = 2 * (x true - x false) by [lra]; rewrite /m; split; field; lra.
have ey : y true / tau = m y - z /\ y false / tau = m y + z.
  by rewrite /z; have -> : rho = - 2 * (y true - y false) by [lra]; rewrite /m; split; field; lra.
have c := exp_pos z; have d := exp_pos (- z); have mx := exp_pos (m x); have my := exp_pos (m y).
have le : exp (- z) <= exp z by case: z0 => [z0|<-]; [left; apply: exp_increasing; lra | rewrite Ropp_0; lra].
rewrite /TV /softmax /normaliser !big_bool /= (proj1 ex) (proj2 ex) (proj1 ey) (proj2 ey) /Rminus !exp_plus.
set X := exp z in c le *; set Y := exp (- z) in d le *.
have p1 : exp (m x) * X / (exp (m x) * X + exp (m x) * Y) = X / (X + Y).
  by field; have := Rmult_lt_0_compat _ _ mx c; have := Rmult_lt_0_compat _ _ mx d; lra.
have p2 : exp (m x) * Y / (exp (m x) * X + exp (m x) * Y) = Y / (X + Y).
  by field; have := Rmult_lt_0_compat _ _ mx c; have := Rmult_lt_0_compat _ _ mx d; lra.
have q1 : exp (m y) * Y / (exp (m y) * Y + exp (m y) * X) = Y / (X + Y).
  by field; have := Rmult_lt_0_compat _ _ my c; have := Rmult_lt_0_compat _ _ my d; lra.
have q2 : exp (m y) * X / (exp (m y) * Y + exp (m y) * X) = X / (X + Y).
  by field; have := Rmult_lt_0_compat _ _ my c; have := Rmult_lt_0_compat _ _ my d; lra.
have t1 : tanh z = X / (X + Y) + - (Y / (X + Y)) by rewrite /tanh /sinh /cosh -/X -/Y; field; lra.
have t2 : 0 <= tanh z.
  have i0 : 0 <= / (X + Y) by left; apply: Rinv_0_lt_compat; lra.
  by rewrite t1; have := Rmult_le_compat_r _ _ _ i0 le; rewrite /Rdiv; lra.
rewrite p1 p2 q1 q2 -t1 (Rabs_pos_eq _ t2) Rabs_left1; lra.
Qed.

(* Means of points at most D apart, under two laws.
   Part of: variant.top-k. *)
Theorem mean_distance (I K : finType) (p q : I -> R) (x : I -> K -> R) D : law p -> law q ->
  (forall i j, norm (fun k => x i k - x j k) <= D) ->
  norm (fun k => mean p (fun i => x i k) - mean q (fun i => x i k)) <= D * TV p q.
Proof.
move=> hp hq hD; set y := fun k => _.
have tv0 : 0 <= TV p q by rewrite TV_excess //; apply: sum_ge0 => i; apply: excess_ge0.
have D0 : 0 <= D by case: (law_inhabited hp) => i; apply: Rle_trans (norm_ge0 _) (hD i i).
apply: norm_le; first exact: Rmult_le_pos.
have -> : dot y y = dual p q (fun i => dot (x i) y) (fun i => - dot (x i) y).
  rewrite {1}/y dotBl !dot_mean /dual; have -> : mean q (fun i => - dot (x i) y) = -1 * mean q (fun i => dot (x i) y).
    by rewrite -meanZ; apply: mean_ext => i; ring.
  by ring.
case: tv0 => [h|h]; last first.
  rewrite -h Rmult_0_r Rmult_0_l; right.
  have z : forall i, excess p q i = 0 by apply: sum_eq0; [apply: excess_ge0 | rewrite -TV_excess].
  have z' : forall i, excess q p i = 0 by apply: sum_eq0; [apply: excess_ge0 | rewrite -TV_excess // TV_sym].
  have e i : p i = q i.
    by move: (z i) (z' i); rewrite /excess /Rmax; do 2 case: Rle_dec => ?; lra.
  by rewrite /dual /mean -sumD big1 // => i _; rewrite e; ring.
rewrite (dual_as_cost _ _ (maximal_coupling hp hq h)).
have -> : D * TV p q * norm y = (D * norm y) * TV p q by ring.
apply: maximal_cost => // [i|i j]; first by ring.
have -> : dot (x i) y + - dot (x j) y = dot (fun k => x i k - x j k) y by rewrite dotBl; ring.
apply: (Rle_trans _ _ _ (cauchy_schwarz _ _)).
by apply: Rmult_le_compat_r; [apply: norm_ge0 | apply: hD].
Qed.

(* An attention layer: rows of laws. Common mass c of every two rows contracts the diameter by 1 - c, c = n eps if all
   weights are at least eps.
   Part of: variant.contraction. *)
Theorem rows_contract (I K : finType) (P : I -> I -> R) (x : I -> K -> R) D eps : (forall i, law (P i)) ->
  (forall i j, eps <= P i j) -> (forall i j, norm (fun k => x i k - x j k) <= D) ->
  forall i j, norm (fun k => mean (P i) (fun l => x l k) - mean (P j) (fun l => x l k)) <= D * (1 - INR #|I| * eps).
Proof.
move=> hP he hD i j; apply: (Rle_trans _ _ _ (mean_distance (hP i) (hP j) hD)).
have D0 : 0 <= D by apply: Rle_trans (norm_ge0 _) (hD i i).
apply: Rmult_le_compat_l => //; rewrite TV_excess //.
have -> : 1 - INR #|I| * eps = \sum_l (P i l - eps).
  rewrite sumB (proj2 (hP i)); congr (_ - _).
  rewrite big_const; elim: #|I| => [|n ih]; first by rewrite /=; ring.
  by rewrite S_INR iterS -ih; ring.
apply: sum_le => l; rewrite /excess /Rmax; have := he i l; have := he j l; case: Rle_dec => _; lra.
Qed.

(* With V = I: bilinear scores x_i^T B x_j with |B| <= b.
   Part of: lipschitz.diameter. *)
Theorem diameter_tanh (I K : finType) (a : I -> I -> R) (x : I -> K -> R) b D :
  (forall i j l m, a i l - a j l - (a i m - a j m) <= b * norm (fun k => x i k - x j k) * norm (fun k => x l k -
    x m k)) ->
  0 <= b -> (forall i j, norm (fun k => x i k - x j k) <= D) -> forall i j,
  norm (fun k => mean (softmax (a i)) (fun l => x l k) -
    mean (softmax (a j)) (fun l => x l k)) <= D * tanh (b * D ^ 2 / 4).
Proof.
move=> ha b0 hD i j; have point : inhabited I by constructor.
apply: (Rle_trans _ _ _ (mean_distance (softmax_law point _) (softmax_law point _) hD)).
have D0 : 0 <= D by apply: Rle_trans (norm_ge0 _) (hD i i).
apply: Rmult_le_compat_l => //; apply: softmax_TV => // l m.
apply: (Rle_trans _ (b * norm (fun k => x i k - x j k) * norm (fun k => x l k - x m k)));
  first by have := ha i j l m; lra.
have n1 := norm_ge0 (fun k => x i k - x j k); have n2 := norm_ge0 (fun k => x l k - x m k).
rewrite Rmult_assoc; apply: Rmult_le_compat_l => //; rewrite /= Rmult_1_r; exact: Rmult_le_compat.
Qed.

(* Two tokens c and -c on the line, score b x y: the output at c is c tanh(b c^2).
   Part of: lipschitz.diameter.
   No twin: an equality, which every other value denies. *)
Theorem two_tokens b c : let x := fun i : bool => if i then c else - c in
  forall i, mean (softmax (fun j => b * x i * x j)) x = (if i then 1 else -1) * (c * tanh (b * c ^ 2)).
Proof.
move=> x i; rewrite /mean /softmax /normaliser !big_bool /x /tanh /sinh /cosh /=.
have e1 : b * c * c = b * (c * (c * 1)) by ring.
have e2 : b * c * - c = - (b * (c * (c * 1))) by ring.
have e3 : b * - c * c = - (b * (c * (c * 1))) by ring.
have e4 : b * - c * - c = b * (c * (c * 1)) by ring.
have p1 := exp_pos (b * (c * (c * 1))); have p2 := exp_pos (- (b * (c * (c * 1)))).
by case: i; rewrite ?e1 ?e2 ?e3 ?e4; field; lra.
Qed.

(* Twin: half of D TV; two atoms at distance one.
   Twin of: mean_distance. *)
Theorem not_half_variation : ~ forall (I K : finType) (p q : I -> R) (x : I -> K -> R) D, law p -> law q ->
  (forall i j, norm (fun k => x i k - x j k) <= D) ->
  norm (fun k => mean p (fun i => x i k) - mean q (fun i => x i k)) <= / 2 * D * TV p q.
Proof.
have n1 (u : unit -> R) : norm u = Rabs (u tt).
  by rewrite /norm /dot (big_pred1 tt); [exact: sqrt_Rsqr_abs | case].
move=> h; have := h [finType of bool] [finType of unit] (fun b => if b then 1 else 0) (fun b => if b then 0 else 1)
  (fun b _ => if b then 1 else 0) 1.
rewrite n1 /TV /mean !big_bool /= => k.
have : Rabs (1 * 1 + 0 * 0 - (0 * 1 + 1 * 0)) <= / 2 * 1 * ((Rabs (1 - 0) + Rabs (0 - 1)) / 2).
  apply: k => [||b c]; [by split=> [[]|]; rewrite ?big_bool /=; lra | by split=> [[]|]; rewrite ?big_bool /=; lra |].
  by rewrite n1; apply: Rabs_le; case: b; case: c; lra.
have -> : 0 - 1 = -1 by ring.
by rewrite Rabs_Ropp Rminus_0_r Rabs_R1 Rabs_pos_eq; lra.
Qed.

(* Twin: an eighth instead of a quarter of b D^2; tokens 1 and -1, b = 2 ln 2.
   Twin of: diameter_tanh. *)
Theorem not_diameter_eighth : ~ forall (I K : finType) (a : I -> I -> R) (x : I -> K -> R) b D,
  (forall i j l m, a i l - a j l - (a i m - a j m) <= b * norm (fun k => x i k - x j k) * norm (fun k => x l k -
    x m k)) ->
  0 <= b -> (forall i j, norm (fun k => x i k - x j k) <= D) -> forall i j,
  norm (fun k => mean (softmax (a i)) (fun l => x l k) -
    mean (softmax (a j)) (fun l => x l k)) <= D * tanh (b * D ^ 2 / 8).
Proof.
have n1 (u : unit -> R) : norm u = Rabs (u tt).
  by rewrite /norm /dot (big_pred1 tt); [exact: sqrt_Rsqr_abs | case].
have l0 : 0 < ln 2 by rewrite -ln_1; apply: ln_increasing; lra.
pose x (b : bool) := if b then 1 else - 1.
move=> h; have := h [finType of bool] [finType of unit] (fun i j => 2 * ln 2 * x i * x j) (fun i _ => x i) (2 * ln 2) 2.
have prod s t : 2 * ln 2 * s * t <= 2 * ln 2 * Rabs s * Rabs t.
  rewrite !Rmult_assoc -Rabs_mult; apply: Rmult_le_compat_l; first by lra.
  by apply: Rmult_le_compat_l; [lra | apply: Rle_abs].
move=> k; have {k} := k (fun i j l m => ltac:(rewrite !n1; apply: Rle_trans (prod _ _); right; ring)) ltac:(lra).
move=> /(_ (fun i j => ltac:(rewrite n1 /x; apply: Rabs_le; case: i; case: j; lra))) /(_ true false).
rewrite n1 (two_tokens (2 * ln 2) 1 true) (two_tokens (2 * ln 2) 1 false).
have e2 : exp (ln 2) = 2 by apply: exp_ln; lra.
have -> : 2 * ln 2 * 2 ^ 2 / 8 = ln 2 by field.
have -> : 2 * ln 2 * 1 ^ 2 = ln 2 + ln 2 by ring.
rewrite /tanh /sinh /cosh !exp_Ropp !exp_plus e2 => k; have := Rle_trans _ _ _ (Rle_abs _) k; lra.
Qed.

(* Twin: one key more than there are; rows (3/4, 1/4) and (1/4, 3/4).
   Twin of: rows_contract, layers_minimum. *)
Theorem not_one_key_more : ~ forall (I K : finType) (P : I -> I -> R) (x : I -> K -> R) D eps, (forall i, law (P i)) ->
  (forall i j, eps <= P i j) -> (forall i j, norm (fun k => x i k - x j k) <= D) -> forall i j,
  norm (fun k => mean (P i) (fun l => x l k) - mean (P j) (fun l => x l k)) <= D * (1 - (INR #|I| + 1) * eps).
Proof.
have n1 (u : unit -> R) : norm u = Rabs (u tt).
  by rewrite /norm /dot (big_pred1 tt); [exact: sqrt_Rsqr_abs | case].
move=> h; have := h [finType of bool] [finType of unit] (fun b c => if b == c then 3 / 4 else 1 / 4)
  (fun b _ => if b then 1 else 0) 1 (1 / 4).
move=> k; have {k} := k (fun b => ltac:(split=> [c|]; [case: eqP => _; lra | rewrite big_bool; case: b => /=; lra]))
  (fun b c => ltac:(case: eqP => _; lra))
  (fun b c => ltac:(rewrite n1; apply: Rabs_le; case: b; case: c; lra)) true false.
rewrite n1 card_bool /mean !big_bool /= Rabs_pos_eq; lra.
Qed.
