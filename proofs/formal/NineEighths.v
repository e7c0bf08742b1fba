(* Distance attention maps centred Gaussians on the line to such, of deviations s -> 2 b s^3 / (1 + 2 b s^2).

   The slope of this map is between 0 and 9/8 and is 9/8 exactly where 2 b s^2 = 3: the Lipschitz constant in W_2.
   Reader's checklist: that attention has this map of deviations is a Gaussian integral and not here. *)
Set Warnings "-ambiguous-paths".
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Definition std_map (b s : R) := 2 * b * s ^ 3 / (1 + 2 * b * s ^ 2).
Definition slope (q : R) := (q ^ 2 + 3 * q) / (1 + q) ^ 2.  (* at q = 2 b s^2 *)

Lemma denominator (b s : R) : 0 < b -> 0 < 1 + 2 * b * s ^ 2.
Proof. intros; assert (0 <= s ^ 2) by apply pow2_ge_0; nra. Qed.

(* Its slope.
   Part of: transport.distance-slope. *)
Theorem std_map_slope (b s : R) : 0 < b -> is_derive (std_map b) s (slope (2 * b * s ^ 2)).
Proof.
  intros hb; assert (h := denominator b s hb).
  unfold std_map, slope; auto_derive; [lra | field]; repeat split; lra.
Qed.

(* In v = 1 / (1 + 2 b s^2).
   Claim: transport.distance-lipschitz. *)
Theorem std_map_derivative (b s : R) : 0 < b -> let v := / (1 + 2 * b * s ^ 2) in
  0 < v <= 1 /\ is_derive (std_map b) s (1 + v - 2 * v ^ 2) /\ 1 + v - 2 * v ^ 2 <= 9 / 8.
Proof.
  intros hb v; assert (h := denominator b s hb); assert (s2 := pow2_ge_0 s).
  assert (e : slope (2 * b * s ^ 2) = 1 + v - 2 * v ^ 2) by (unfold slope, v; field; lra).
  split; [|split].
  - unfold v; split; [now apply Rinv_0_lt_compat|]; rewrite <- Rinv_1; apply Rinv_le_contravar; nra.
  - rewrite <- e; now apply std_map_slope.
  - assert (k := pow2_ge_0 (v - 1 / 4)); nra.
Qed.

(* The distance of the slope from 9/8 is a square. *)
Lemma slope_square (q : R) : 0 <= q -> slope q = 9 / 8 - (q - 3) ^ 2 / (8 * (1 + q) ^ 2).
Proof. intros h; unfold slope; field; lra. Qed.

(* Part of: transport.distance-lipschitz. *)
Theorem slope_at_most_9_8 (q : R) : 0 <= q -> 0 <= slope q <= 9 / 8.
Proof.
  intros h; split.
  - unfold slope; apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; nra].
  - rewrite slope_square by assumption.
    enough (0 <= (q - 3) ^ 2 / (8 * (1 + q) ^ 2)) by lra.
    apply Rmult_le_pos; [apply pow2_ge_0 | left; apply Rinv_0_lt_compat; nra].
Qed.

(* Part of: transport.distance-slope.
   No twin: an equivalence, which every other point denies. *)
Theorem slope_is_9_8 (q : R) : 0 <= q -> (slope q = 9 / 8 <-> q = 3).
Proof.
  intros h; split; intros e; [|subst; unfold slope; field].
  rewrite slope_square in e by assumption.
  assert (z : (q - 3) ^ 2 / (8 * (1 + q) ^ 2) = 0) by lra.
  apply (f_equal (fun z => z * (8 * (1 + q) ^ 2))) in z; field_simplify in z; nra.
Qed.

(* Part of: transport.distance-slope. *)
Theorem std_map_lipschitz (b s t : R) : 0 < b -> Rabs (std_map b s - std_map b t) <= 9 / 8 * Rabs (s - t).
Proof.
  intros hb.
  destruct (MVT_gen (std_map b) t s (fun z => slope (2 * b * z ^ 2))) as [c [_ e]].
  - intros z _; now apply std_map_slope.
  - intros z _; apply derivable_continuous_pt; exists (slope (2 * b * z ^ 2)).
    now apply is_derive_Reals, std_map_slope.
  - rewrite e, Rabs_mult; apply Rmult_le_compat_r; [apply Rabs_pos|].
    assert (0 <= c ^ 2) by apply pow2_ge_0.
    assert (0 <= slope (2 * b * c ^ 2) <= 9 / 8) by (apply slope_at_most_9_8; nra).
    rewrite Rabs_pos_eq; lra.
Qed.

(* And no smaller constant serves: the slope at 2 b s^2 = 3.
   Part of: transport.distance-slope. *)
Theorem std_map_least (b c : R) : 0 < b ->
  (forall s t, Rabs (std_map b s - std_map b t) <= c * Rabs (s - t)) -> 9 / 8 <= c.
Proof.
  intros hb h; destruct (Rle_dec (9 / 8) c) as [l|l]; [exact l|]; exfalso.
  set (s := sqrt (3 / (2 * b))).
  assert (q : 2 * b * s ^ 2 = 3).
  { unfold s; rewrite <- Rsqr_pow2, Rsqr_sqrt; [field; lra | apply Rlt_le, Rdiv_lt_0_compat; lra]. }
  assert (d := std_map_slope b s hb); rewrite q in d.
  replace (slope 3) with (9 / 8) in d by (unfold slope; field); apply is_derive_Reals in d.
  destruct (d (9 / 8 - c)) as [r hr]; [lra|]; assert (r0 := cond_pos r); set (t := r / 2).
  assert (k : Rabs ((std_map b (s + t) - std_map b s) / t - 9 / 8) < 9 / 8 - c).
  { apply hr; unfold t; [lra | rewrite Rabs_pos_eq; lra]. }
  assert (g := h (s + t) s); replace (s + t - s) with t in g by ring; rewrite (Rabs_pos_eq t) in g by (unfold t; lra).
  apply Rabs_def2 in k; destruct k as [_ k].
  assert (k' : c < (std_map b (s + t) - std_map b s) / t) by lra.
  apply (Rmult_lt_compat_r t) in k'; [|unfold t; lra].
  replace ((std_map b (s + t) - std_map b s) / t * t) with (std_map b (s + t) - std_map b s) in k'
    by (field; unfold t; lra).
  assert (a := Rle_abs (std_map b (s + t) - std_map b s)); lra.
Qed.

(* The Lipschitz constant is exactly 9/8, which the slope has at 2 b s^2 = 3 and nowhere else.
   Part of: transport.distance-slope. *)
Theorem std_map_constant (b : R) : 0 < b ->
  (forall s t, Rabs (std_map b s - std_map b t) <= 9 / 8 * Rabs (s - t)) /\
  (forall c, (forall s t, Rabs (std_map b s - std_map b t) <= c * Rabs (s - t)) -> 9 / 8 <= c) /\
  forall s, is_derive (std_map b) s (slope (2 * b * s ^ 2)) /\ (slope (2 * b * s ^ 2) = 9 / 8 <-> 2 * b * s ^ 2 = 3).
Proof.
  intros hb; split; [|split].
  - intros s t; exact (std_map_lipschitz b s t hb).
  - intros c; exact (std_map_least b c hb).
  - intros s; split; [exact (std_map_slope b s hb)|]; apply slope_is_9_8.
    assert (h := Rmult_le_pos _ _ (Rlt_le _ _ hb) (pow2_ge_0 s)); lra.
Qed.

(* Twin: it is no contraction, with the constant 1.
   Twin of: slope_at_most_9_8, std_map_derivative. *)
Theorem not_non_expanding : ~ forall q, 0 <= q -> slope q <= 1.
Proof. intros h; specialize (h 3 ltac:(lra)); unfold slope in h; lra. Qed.

(* Twin: the slope taken at b s^2; b = s = 1.
   Twin of: std_map_slope. *)
Theorem not_slope_halved : ~ forall b s : R, 0 < b -> is_derive (std_map b) s (slope (b * s ^ 2)).
Proof.
  intros h; assert (d := h 1 1 Rlt_0_1); apply is_derive_unique in d.
  rewrite (is_derive_unique _ _ _ (std_map_slope 1 1 Rlt_0_1)) in d; unfold slope in d; lra.
Qed.

(* Twin: one per cent less than 9/8.
   Twin of: std_map_lipschitz, std_map_constant. *)
Theorem not_lipschitz_less : ~ forall b s t : R, 0 < b ->
  Rabs (std_map b s - std_map b t) <= 99 / 100 * (9 / 8) * Rabs (s - t).
Proof. intros h; assert (l := std_map_least 1 _ Rlt_0_1 (fun s t => h 1 s t Rlt_0_1)); lra. Qed.

(* Twin: one per cent more than 9/8.
   Twin of: std_map_least, std_map_constant. *)
Theorem not_least_more : ~ forall b c : R, 0 < b ->
  (forall s t, Rabs (std_map b s - std_map b t) <= c * Rabs (s - t)) -> 101 / 100 * (9 / 8) <= c.
Proof. intros h; assert (l := h 1 _ Rlt_0_1 (fun s t => std_map_lipschitz 1 s t Rlt_0_1)); lra. Qed.
