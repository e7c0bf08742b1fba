(* No constant of W_2 is below e^(e/2) (1 + e/2) / 2 for the form B, where e = <x, B (y - x)> is any of its detours in
   the ball: a query x shares its attention equally with an atom at the place that it prefers, of mass 1 / (1 + e^e),
   and that atom is moved towards the origin.

   Reader's checklist: as in [DetourLeast]; [W1] with squared distances is the square of W_2, so that c is squared. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Tilt Transport Displacement SharpW1 Scaling DetourLeast Least Detour
  DetourValues IntervalStd.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

(* Atoms that stay with themselves. *)
Lemma W1_stay (I : finType) (C : I -> I -> R) p w : law p -> W1 C p p w -> w <= mean p (fun i => C i i).
Proof.
move=> hp hw; apply: Rle_trans (proj1 hw _ (stay_coupling hp)) _; apply: sum_le => i; right.
have -> : \sum_j ((if j == i then p i else 0) * C i j) = \sum_j (if j == i then p i * C i j else 0).
  by apply: sum_ext => j; case: (j == i); ring.
by rewrite -big_mkcond big_pred1_eq.
Qed.

(* Two atoms are matched with themselves where that is no worse than to cross them. *)
Lemma W1_uncrossed eps (C : bool -> bool -> R) w : C true true + C false false <= C true false + C false true ->
  W1 C (masses eps) (masses eps) w -> (1 - eps) * C true true + eps * C false false <= w.
Proof.
move=> cross [_ greatest]; apply: greatest => g [g0 [ga gb]]; rewrite /cost !sum_bool.
have := ga true; have := ga false; have := gb true; rewrite !sum_bool /masses => b1 a2 a1.
have e1 : g false true = g true false by lra.
have -> : g true true = 1 - eps - g true false by lra.
have -> : g false false = eps - g true false by lra.
by rewrite e1; have := Rmult_le_compat_l _ _ _ (g0 true false) cross; lra.
Qed.

Lemma crossed (K : finType) (a b c d : K -> R) :
  norm (minus a d) ^ 2 + norm (minus b c) ^ 2 - (norm (minus a c) ^ 2 + norm (minus b d) ^ 2) =
  2 * dot (minus a b) (minus c d).
Proof.
have sq (u : K -> R) : norm u ^ 2 = dot u u by rewrite -norm_sq; ring.
rewrite !sq /dot -!sumD -sumB -sumZ; apply: sum_ext => k; rewrite /minus; ring.
Qed.

(* What the query sees of the atom that moves by s, where it shares its attention equally at first. *)
Lemma shared_falls ka xi c : let lead := ka * (1 - xi) in let eps := / (1 + exp lead) in
  c < / 2 * (exp (lead / 2) * (1 + lead / 2)) -> exists d : posreal, forall s, 0 < s < d ->
  c * s < exp (lead / 2) * (share eps (1 - xi) lead - share eps (1 - s - xi) (ka * (1 - s - xi))).
Proof.
move=> lead eps hc; have X0 := exp_pos lead; have H0 := exp_pos (lead / 2).
have i0 : 0 < eps by apply: Rinv_0_lt_compat; lra.
have i1 : eps * (1 + exp lead) = 1 by rewrite /eps; field; lra.
pose F s := share eps (1 - s - xi) (ka * (1 - s - xi)).
have F0 : F 0 = share eps (1 - xi) lead by rewrite /F /lead; congr share; ring.
have slope : is_derive F 0 (- (/ 2 * (1 + lead / 2))).
  rewrite /F /share; have e1 : ka * (1 + - 0 + - xi) = lead by rewrite /lead; ring.
  auto_derive; rewrite e1; first by have := Rmult_lt_0_compat _ _ i0 X0; lra.
  rewrite /eps; set X := exp lead in X0 *; rewrite /lead; field; lra.
move/is_derive_Reals: slope => slope; pose room := / 2 * (1 + lead / 2) - c / exp (lead / 2).
have r0 : 0 < room.
  rewrite /room; apply: (Rmult_lt_reg_l (exp (lead / 2))) => //.
  have -> : exp (lead / 2) * (/ 2 * (1 + lead / 2) - c / exp (lead / 2)) =
    / 2 * (exp (lead / 2) * (1 + lead / 2)) - c by field; lra.
  by lra.
case: (slope room r0) => d hd; exists d => s hs.
have := hd s ltac:(lra) ltac:(rewrite Rabs_pos_eq; lra); rewrite Rplus_0_l => k.
have k2 := Rabs_def2 _ _ k; have k3 : (F s - F 0) / s < - (c / exp (lead / 2)) by rewrite /room in k2; lra.
have := Rmult_lt_compat_r s _ _ (proj1 hs) k3.
have -> : (F s - F 0) / s * s = F s - F 0 by field; lra.
move=> k4; have := Rmult_lt_compat_l _ _ _ H0 k4; rewrite -/(F s) F0.
have -> : exp (lead / 2) * (- (c / exp (lead / 2)) * s) = - (c * s) by field; lra.
by lra.
Qed.

(* A product that is not negative at 0 and zero there only if it is zero is not negative near 0. *)
Lemma stays_sign (P : R -> R) : continuous P 0 -> 0 < P 0 \/ (forall s, P s = 0) ->
  exists d : posreal, forall s, 0 < s < d -> 0 <= P s.
Proof.
move=> cont [p|z]; last by exists (mkposreal 1 Rlt_0_1) => s _; rewrite z; lra.
have near : locally 0 (fun s => 0 < P s).
  by apply: (cont (fun y => 0 < y)); exact: (open_gt 0 (P 0) p).
case: near => d hd; exists d => s hs; left; apply: hd.
by change (Rabs (s - 0) < d); rewrite Rminus_0_r Rabs_pos_eq; lra.
Qed.

(* The theorem. In dimension zero all laws are one.
   Part of: lipschitz.single-form. *)
Theorem attention_W2_detour_least (K : finType) (B : K -> K -> R) r e (x y : K -> R) c : inhabited K -> 0 < r ->
  norm x <= r -> norm y <= r -> form B x (minus y x) = e -> 0 <= e -> 0 <= c ->
  c < / 2 * (exp (e / 2) * (1 + e / 2)) ->
  exists (I J : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    law p /\ law q /\ (forall i, norm (x i) <= r) /\ (forall j, norm (y j) <= r) /\
    W1 (fun i j => norm (minus (x i) (y j)) ^ 2) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j))) ^ 2) p q after /\ c ^ 2 * before < after.
Proof.
move=> point r0 hx hy ee e0 c0 hc; have rr := pow_lt r 2 r0.
suff [I [w [z [z' [hw [hz [hz' main]]]]]]] : exists (I : finType) (w : I -> R) (z z' : I -> K -> R), law w /\
    (forall i, norm (z i) <= r) /\ (forall i, norm (z' i) <= r) /\ forall after,
    W1 (fun i j => norm (minus (output B w z (z i)) (output B w z' (z' j))) ^ 2) w w after ->
    c ^ 2 * mean w (fun i => norm (minus (z i) (z' i)) ^ 2) < after.
  case: (W1_exists (C := fun i j => norm (minus (z i) (z' j)) ^ 2) hw hw) => [i j|before hb]; first exact: pow2_ge_0.
  case: (W1_exists (C := fun i j => norm (minus (output B w z (z i)) (output B w z' (z' j))) ^ 2) hw hw) =>
    [i j|after ha]; first exact: pow2_ge_0.
  exists I, I, w, w, z, z', before, after; do 6! split=> //; apply: Rle_lt_trans (main _ ha).
  by apply: Rmult_le_compat_l; [apply: pow2_ge_0 | apply: W1_stay hw hb].
case: (prefers point r0 hx hy ee e0) => [[y' [ka [yy [hb best]]]]|[z0 [v nv]]]; last first.
  (* A query without preferences: one atom is where its output is. *)
  exists [finType of unit], (fun=> 1), (fun _ _ => 0), (fun=> v).
  have one : law (fun _ : unit => 1) by split=> [_|]; [lra | rewrite sum_unit].
  have apart : norm (minus (fun=> 0) v) = r.
    rewrite -[RHS]nv /norm; congr sqrt; apply: sum_ext => k; rewrite /minus; ring.
  split=> //; split; first by move=> _; rewrite norm_0; lra.
  split=> [_|after [_ greatest]]; first by lra.
  apply: (Rlt_le_trans _ (r ^ 2)).
    have -> : mean (fun _ : unit => 1) (fun=> norm (minus (fun=> 0) v) ^ 2) = r ^ 2 by rewrite (mean_const _ one) apart.
    suff : c ^ 2 < 1 by move=> k; have := Rmult_lt_compat_r _ _ _ rr k; lra.
    by move: hc; rewrite z0 /Rdiv Rmult_0_l exp_0; nra.
  apply: greatest => g hg; rewrite /cost !sum_unit !output_one apart.
  have [_ [ga _]] := hg; have := ga tt; rewrite sum_unit => ->; lra.
set xi := dot y' x / r ^ 2 in best hb; pose lead := ka * (1 - xi); pose eps := / (1 + exp lead).
have X0 := exp_pos lead; have i1 : eps * (1 + exp lead) = 1 by rewrite /eps; field; lra.
have he : 0 < eps < 1 by split; [apply: Rinv_0_lt_compat; lra | rewrite /eps -Rinv_1; apply: Rinv_lt_contravar; lra].
have hc' : c < / 2 * (exp (lead / 2) * (1 + lead / 2)).
  apply: Rlt_le_trans hc _; apply: Rmult_le_compat_l; first lra.
  by apply: Rmult_le_compat; [left; apply: exp_pos | lra | apply: exp_le | ]; rewrite /lead; lra.
case: (shared_falls hc') => d1 h1.
(* Outputs lie between x and the light atom. *)
pose part s v := share eps 1 ((1 - s) * form B v y' - form B v x).
have out s v k : output B (masses eps) (places x y' s) v k = x k + part s v * ((1 - s) * y' k - x k).
  rewrite /output /centre /seen mean_two // /places /part /form dot_scale /share; set X := exp _.
  have Y0 : 0 < X := exp_pos _; have eX := Rmult_lt_0_compat _ _ (proj1 he) Y0; field; lra.
pose D s := part s x - part s (fun k => (1 - s) * y' k).
pose gap := minus y' x; pose P s := D 0 * D s * (dot gap gap - s * dot gap y').
have contP : continuous P 0.
  apply: (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule) P 0).
  have sc s : part s (fun k => (1 - s) * y' k) =
      share eps 1 ((1 - s) * ((1 - s) * form B y' y') - (1 - s) * form B y' x) by rewrite /part !form_scale.
  apply: (ex_derive_ext (fun s => D 0 * (part s x - share eps 1 ((1 - s) * ((1 - s) * form B y' y') -
    (1 - s) * form B y' x)) * (dot gap gap - s * dot gap y'))) => [s|]; first by rewrite /P -sc.
  rewrite /part /share; set D0 := D 0; auto_derive.
  have pos t : 1 + - eps + eps * exp t <> 0.
    by have := Rmult_lt_0_compat _ _ (proj1 he) (exp_pos t); lra.
  by repeat split; apply: pos.
have sign : 0 < P 0 \/ (forall s, P s = 0).
  have P0 : P 0 = D 0 ^ 2 * dot gap gap by rewrite /P; ring.
  case: (Req_dec (D 0) 0) => [z|ne]; first by right=> s; rewrite /P z; ring.
  case: (dot_ge0 gap) => [g0|z].
    by left; rewrite P0; apply: Rmult_lt_0_compat => //; apply: pow2_gt_0.
  right=> s; have := dot_sq gap y'; rewrite -z Rmult_0_l => k.
  have z2 : dot gap y' = 0 by have := pow2_ge_0 (dot gap y'); nra.
  by rewrite /P -z z2; ring.
case: (stays_sign contP sign) => d2 h2; have d1p := cond_pos d1; have d2p := cond_pos d2.
pose s := Rmin (Rmin d1 d2) 1 / 2.
have hs : 0 < s < 1 /\ s < d1 /\ s < d2 by rewrite /s /Rmin; case: Rle_dec; case: Rle_dec; lra.
have {h1} fall := h1 s ltac:(lra); have {h2} hP := h2 s ltac:(lra).
have ny := norm_end r0 yy; have lw := masses_law he.
exists [finType of bool], (masses eps), (places x y' 0), (places x y' s); split=> //.
split; first by move=> b; apply: places_ball => //; lra.
split; first by move=> b; apply: places_ball => //; lra.
move=> after ha.
set X := output B (masses eps) (places x y' 0) in ha *; set Y := output B (masses eps) (places x y' s) in ha *.
have cross := crossed (X (places x y' 0 true)) (X (places x y' 0 false)) (Y (places x y' s true))
  (Y (places x y' s false)).
have lean : dot (minus (X (places x y' 0 true)) (X (places x y' 0 false)))
    (minus (Y (places x y' s true)) (Y (places x y' s false))) = P s.
  rewrite /P; have -> : dot gap gap - s * dot gap y' = dot gap (fun k => gap k - s * y' k) by rewrite dotBr dot_scale.
  rewrite /dot -sumZ; apply: sum_ext => k; rewrite /minus /X /Y !out /places /gap /minus /D; ring.
have least := W1_uncrossed _ ha.
have {cross lean} matched := least ltac:(rewrite lean in cross; lra).
pose f := share eps (1 - xi) lead - share eps (1 - s - xi) (ka * (1 - s - xi)).
have {fall} drop : c * s < exp (lead / 2) * f := fall.
have f0 : 0 < f.
  apply: (Rmult_lt_reg_l (exp (lead / 2))); first exact: exp_pos.
  by have := Rmult_le_pos _ _ c0 (Rlt_le _ _ (proj1 (proj1 hs))); lra.
have g1 g t : share eps g t = g * share eps 1 t by rewrite /share /Rdiv; ring.
have moves : dot y' (minus (X x) (Y x)) = r ^ 2 * f.
  have p t : dot y' (fun k => x k + part t x * ((1 - t) * y' k - x k)) = r ^ 2 * (xi + (1 - t - xi) * part t x).
    rewrite dotC dotDl dotZl dotBl dotZl (dotC x) yy /xi; field; lra.
  rewrite dotBr (dot_ext (fun _ => erefl) (out 0 x)) (dot_ext (fun _ => erefl) (out s x)) !p /f (g1 (1 - xi))
    (g1 (1 - s - xi)) /part !hb yy -/xi.
  have -> : (1 - 0) * (ka * (r ^ 2 / r ^ 2)) - ka * xi = lead by rewrite /lead; field; lra.
  have -> : (1 - s) * (ka * (r ^ 2 / r ^ 2)) - ka * xi = ka * (1 - s - xi) by field; lra.
  by ring.
have far : r * f <= norm (minus (X x) (Y x)).
  have := cauchy_schwarz y' (minus (X x) (Y x)); rewrite moves ny => k; apply: (Rmult_le_reg_l r) => //.
  by apply: Rle_trans k; right; ring.
have far2 : (r * f) ^ 2 <= norm (minus (X x) (Y x)) ^ 2.
  by apply: pow_incr; split=> //; apply: Rmult_le_pos; lra.
rewrite /mean sum_bool /=.
have -> : norm (minus x x) = 0.
  by rewrite -(norm_0 K); apply: norm_ext => k; rewrite /minus; ring.
have -> : norm (minus (fun k => (1 - 0) * y' k) (fun k => (1 - s) * y' k)) = s * r.
  by rewrite -ny -norm_scale; [apply: norm_ext => k; rewrite /minus; ring | lra].
have square : (c * s) ^ 2 < exp lead * f ^ 2.
  have -> : exp lead * f ^ 2 = (exp (lead / 2) * f) ^ 2.
    by have -> : exp lead = exp (lead / 2) * exp (lead / 2) by [rewrite -exp_plus; congr exp; field]; ring.
  rewrite -!Rsqr_pow2; apply: Rsqr_incrst_1; [exact: drop | | ]; apply: Rmult_le_pos; try lra.
  by left; apply: exp_pos.
have k1 := Rmult_lt_compat_l _ _ _ (Rmult_lt_0_compat _ _ (proj1 he) rr) square.
have e1 : 1 - eps = eps * exp lead by lra.
have k2 := Rmult_le_compat_l (1 - eps) _ _ ltac:(lra) far2.
have k3 := Rmult_le_pos eps _ ltac:(lra) (pow2_ge_0 (norm (minus (X (places x y' 0 false)) (Y (places x y' s false))))).
apply: (Rlt_le_trans _ _ _ _ matched); apply: (Rlt_le_trans _ ((1 - eps) * (r * f) ^ 2)).
  by rewrite e1; lra.
by move: k2 k3 => /=; lra.
Qed.

(* The form - a on a line, from one end to the other. *)
Lemma line_ends a : 0 <= a -> norm (axis tt 1) <= 1 /\ norm (axis tt (-1)) <= 1 /\
  form (line tt a) (axis tt 1) (minus (axis tt (-1)) (axis tt 1)) = 2 * a /\ detour (line tt a) 1 (2 * a).
Proof.
move=> a0; rewrite !axis_norm Rabs_Ropp Rabs_R1 form_line /minus /axis eqxx; do 3! (split; first lra).
by apply: (proj1 (detour_range (line tt a) Rlt_0_1 a0)) => u; rewrite pow1 Rmult_1_l; apply: line_norm.
Qed.

(* Twin: an exponent two per cent smaller in W_2; the form -50.
   Twin of: attention_W2_detour. *)
Theorem not_detour_square_near : ~ forall (K I J : finType) (B : K -> K -> R) a e (p : I -> R) (q : J -> R)
    (x : I -> K -> R) (y : J -> K -> R) before after,
  0 <= a -> (forall u, norm (T B u) <= a * norm u) -> detour B 1 e -> law p -> law q -> (forall i, norm (x i) <= 1) ->
  (forall j, norm (y j) <= 1) -> W1 (fun i j => norm (minus (x i) (y j)) ^ 2) p q before ->
  W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j))) ^ 2) p q after ->
  after <= (exp (98 / 100 * (e / 2)) * sqrt (1 + a ^ 2) + a) ^ 2 * before.
Proof.
have a0 : 0 <= 50 by lra.
have [n1 [n2 [e1 big]]] := line_ends a0.
have lt : exp (98 / 100 * (2 * 50 / 2)) * sqrt (1 + 50 ^ 2) + 50 < / 2 * (exp (2 * 50 / 2) * (1 + 2 * 50 / 2)).
  by interval with (i_prec 40).
have c0 : 0 <= exp (98 / 100 * (2 * 50 / 2)) * sqrt (1 + 50 ^ 2) + 50.
  have := Rmult_le_pos _ _ (Rlt_le _ _ (exp_pos (98 / 100 * (2 * 50 / 2)))) (sqrt_pos (1 + 50 ^ 2)); lra.
case: (attention_W2_detour_least (inhabits tt) Rlt_0_1 n1 n2 e1 ltac:(lra) c0 lt) =>
  I [J [p [q [x [y [before [after [hp [hq [hx [hy [hb [ha gap]]]]]]]]]]]]].
move=> h; have := h _ I J _ 50 _ p q x y before after a0 (fun u => line_norm tt u a0) big hp hq hx hy hb ha; lra.
Qed.

(* Twin: twice the floor of W_2; the form -1.
   Twin of: attention_W2_detour_least. *)
Theorem not_detour_square_double : ~ forall (K : finType) (B : K -> K -> R) e (x y : K -> R) c, inhabited K ->
  norm x <= 1 -> norm y <= 1 -> form B x (minus y x) = e -> 0 <= e -> 0 <= c -> c < exp (e / 2) * (1 + e / 2) ->
  exists (I J : finType) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    law p /\ law q /\ (forall i, norm (x i) <= 1) /\ (forall j, norm (y j) <= 1) /\
    W1 (fun i j => norm (minus (x i) (y j)) ^ 2) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j))) ^ 2) p q after /\ c ^ 2 * before < after.
Proof.
have a0 : 0 <= 1 by lra.
have [n1 [n2 [e1 big]]] := line_ends a0.
have lt : exp (2 * 1 / 2) * sqrt (1 + 1 ^ 2) + 1 < exp (2 * 1 / 2) * (1 + 2 * 1 / 2) by interval with (i_prec 40).
have c0 : 0 <= exp (2 * 1 / 2) * sqrt (1 + 1 ^ 2) + 1.
  have := Rmult_le_pos _ _ (Rlt_le _ _ (exp_pos (2 * 1 / 2))) (sqrt_pos (1 + 1 ^ 2)); lra.
move=> h; case: (h _ (line tt 1) _ _ _ _ (inhabits tt) n1 n2 e1 ltac:(lra) c0 lt) =>
  I [J [p [q [x [y [before [after [hp [_ [hx [hy [hb [ha gap]]]]]]]]]]]]].
have C0 : 0 < (exp (2 * 1 / 2) * sqrt (1 + 1 ^ 2) + 1) ^ 2.
  by apply: pow_lt; have := Rmult_le_pos _ _ (Rlt_le _ _ (exp_pos (2 * 1 / 2))) (sqrt_pos (1 + 1 ^ 2)); lra.
have := W1_moved (D := fun u v => norm (minus u v) ^ 2) C0 (fun L w x' y' hw h1 h2 =>
  square_detour a0 (fun u => line_norm tt u a0) big hw h1 h2) hp hx hy hb ha; lra.
Qed.
