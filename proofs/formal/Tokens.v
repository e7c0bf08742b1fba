(* Few tokens in closed form: two tokens under one layer, three tokens with an unbounded slope, the threshold
   between two comparisons of clusters, and the lowest token of a half-space.

   Reader's checklist: [two B x y] is the output of the token x among x and y of equal masses, scores B x x and B x
   y, values the tokens; [slope_three] is a derivative in the first token, which is query, key and value at once;
   [lowest_rises] has velocities projected to the tangent space, weights of any kind that are not negative.
   When there is equality in cone.monotone is in [Consensus]. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Definition two (B x y : R) := (exp (B * x * x) * x + exp (B * x * y) * y) / (exp (B * x * x) + exp (B * x * y)).

(* Two tokens come together by this factor. *)
Lemma two_tokens_ratio B x y : x <> y ->
  let u := B / 4 * (x ^ 2 - y ^ 2) in let v := B / 4 * (x - y) ^ 2 in
  (two B x y - two B y x) / (x - y) = (tanh (u + v) - tanh (u - v)) / 2.
Proof.
move=> ne u v; have d : x - y <> 0 by lra.
have half a b z w : (exp a * z + exp b * w) / (exp a + exp b) = (z + w) / 2 + (z - w) / 2 * tanh ((a - b) / 2).
  have -> : exp a = exp ((a + b) / 2) * exp ((a - b) / 2) by rewrite -exp_plus; congr exp; field.
  have -> : exp b = exp ((a + b) / 2) * exp (- ((a - b) / 2)) by rewrite -exp_plus; congr exp; field.
  rewrite /tanh /sinh /cosh; have := exp_pos ((a - b) / 2); have := exp_pos (- ((a - b) / 2)).
  set m := exp ((a + b) / 2); set h := exp ((a - b) / 2); set l := exp (- _) => l0 h0.
  have m0 : 0 < m by apply: exp_pos.
  have s : 0 < m * h + m * l by have := Rmult_lt_0_compat _ _ m0 h0; have := Rmult_lt_0_compat _ _ m0 l0; lra.
  by field; lra.
rewrite /two !half.
have -> : (B * x * x - B * x * y) / 2 = u + v by rewrite /u /v; field.
have -> : (B * y * y - B * y * x) / 2 = - (u - v) by rewrite /u /v; field.
have odd z : tanh (- z) = - tanh z.
  rewrite /tanh /sinh /cosh Ropp_involutive; have := exp_pos z; have := exp_pos (- z) => *; field; lra.
by rewrite odd; field.
Qed.

(* In closed form, and how much nearer than two opposite tokens at the same distance, of which u is zero.
   Claim: lipschitz.two-tokens. *)
Theorem two_tokens_nearer B x y : x <> y ->
  let u := B / 4 * (x ^ 2 - y ^ 2) in let v := B / 4 * (x - y) ^ 2 in
  let factor := (two B x y - two B y x) / (x - y) in
  factor = (tanh (u + v) - tanh (u - v)) / 2 /\ factor = tanh v / (1 + (sinh u / cosh v) ^ 2) /\
  tanh v - factor = tanh v * (sinh u ^ 2 / (cosh u ^ 2 + sinh v ^ 2)) /\ Rabs factor <= Rabs (tanh v) /\
  (u = 0 -> factor = tanh v).
Proof.
move=> ne u v factor; have e : factor = (tanh (u + v) - tanh (u - v)) / 2 := two_tokens_ratio B ne.
have cu : 1 <= cosh u ^ 2 - sinh u ^ 2 <= 1.
  by have := exp_Ropp u; have := exp_pos u => p i; rewrite /cosh /sinh i; split; right; field; lra.
have cv : 1 <= cosh v ^ 2 - sinh v ^ 2 <= 1.
  by have := exp_Ropp v; have := exp_pos v => p i; rewrite /cosh /sinh i; split; right; field; lra.
have pc z : 0 < cosh z by have := exp_pos z; have := exp_pos (- z); rewrite /cosh; lra.
have su := pow2_ge_0 (sinh u); have sv := pow2_ge_0 (sinh v); have q := pow_lt _ 2 (pc v).
have closed : factor = tanh v / (1 + (sinh u / cosh v) ^ 2).
  rewrite e /tanh; have -> : 1 + (sinh u / cosh v) ^ 2 = (cosh v ^ 2 + sinh u ^ 2) / cosh v ^ 2.
    by field; have := pc v; lra.
  have p := exp_pos u; have p' := exp_pos v; have i := exp_Ropp u; have i' := exp_Ropp v.
  have pp := Rmult_lt_0_compat _ _ p p'.
  rewrite /sinh /cosh !exp_Ropp /Rminus !exp_plus !exp_Ropp; field; repeat split; nra.
have short : tanh v - factor = tanh v * (sinh u ^ 2 / (cosh u ^ 2 + sinh v ^ 2)).
  have -> : cosh u ^ 2 + sinh v ^ 2 = cosh v ^ 2 + sinh u ^ 2 by lra.
  by rewrite closed; field; have := pc v; split; [lra | nra].
do 3! split=> //; split=> [|z].
  rewrite closed /Rdiv Rabs_mult -[X in _ <= X]Rmult_1_r; apply: Rmult_le_compat_l; first exact: Rabs_pos.
  have k := pow2_ge_0 (sinh u / cosh v); rewrite Rabs_pos_eq; last by left; apply: Rinv_0_lt_compat; lra.
  by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
by rewrite closed z sinh_0 /Rdiv Rmult_0_l pow_ne_zero // Rplus_0_r Rinv_1; ring.
Qed.

(* The middle of three tokens 0, c, -c: the slope of its output in its own place is (1 + 2 c^2) / 3, beyond every bound.
   Claim: layer.not-lipschitz. *)
Theorem slope_three c :
  let out x := (exp (x * x) * x + exp (x * c) * c + exp (x * - c) * - c) /
    (exp (x * x) + exp (x * c) + exp (x * - c)) in
  is_derive out 0 ((1 + 2 * c ^ 2) / 3) /\ forall M, exists c', M < (1 + 2 * c' ^ 2) / 3.
Proof.
move=> out; split; last by move=> M; exists (Rmax (3 * M) 1); have := Rmax_l (3 * M) 1; have := Rmax_r (3 * M) 1; nra.
rewrite /out; auto_derive; first by have := exp_pos (0 * 0); have := exp_pos (0 * c); have := exp_pos (0 * - c); lra.
by rewrite !Rmult_0_l exp_0; field.
Qed.

(* Which of two clusters or the simplex is slower.
   Part of: equiangular.threshold. *)
Theorem threshold_identity n m E : 0 < 1 + E -> 0 < E + n - 1 ->
  (1 + m) / (1 + E) - ((n - 1) * m + 1) / (E + n - 1) = (n - 2) * (1 - m * E) / ((1 + E) * (E + n - 1)).
Proof. by move=> h h'; field; lra. Qed.

(* The lowest token above a hyperplane rises.
   Part of: cone.monotone. *)
Theorem lowest_rises (I K : finType) (W : I -> I -> R) (x : I -> K -> R) (w : K -> R) i :
  (forall j, norm (x j) = 1) -> (forall j, 0 <= W i j) -> 0 < dot (x i) w -> (forall j, dot (x i) w <= dot (x j) w) ->
  let pull := fun k => \sum_j (W i j * x j k) in
  let velocity := fun k => pull k - dot pull (x i) * x i k in
  0 <= dot (x i) w * (\sum_j (W i j * (1 - dot (x i) (x j)))) <= dot velocity w.
Proof.
move=> unit W0 above low pull velocity.
have dot_pull u : dot pull u = \sum_j (W i j * dot (x j) u) := dot_mean (W i) x u.
have cs j : dot (x i) (x j) <= 1 by have := cauchy_schwarz (x i) (x j); rewrite !unit; lra.
split.
  apply: Rmult_le_pos; first by lra.
  by apply: sum_ge0 => j; apply: Rmult_le_pos => //; have := cs j; lra.
have -> : dot velocity w = \sum_j (W i j * (dot (x j) w - dot (x j) (x i) * dot (x i) w)).
  rewrite /velocity dotBl dotZl !dot_pull -sumZr -sumB; apply: sum_ext => j; ring.
rewrite -sumZ; apply: sum_le => j.
have -> : dot (x i) w * (W i j * (1 - dot (x i) (x j))) = W i j * (dot (x i) w - dot (x j) (x i) * dot (x i) w).
  by rewrite (dotC (x j)); ring.
by apply: Rmult_le_compat_l => //; have := low j; lra.
Qed.

(* Twin: below the hyperplane the lowest token does not rise; tokens -1 and 1 on the line.
   Twin of: lowest_rises. *)
Theorem not_rising_below : ~ forall (I K : finType) (W : I -> I -> R) (x : I -> K -> R) (w : K -> R) i,
  (forall j, norm (x j) = 1) -> (forall j, 0 <= W i j) -> (forall j, dot (x i) w <= dot (x j) w) ->
  0 <= dot (x i) w * (\sum_j (W i j * (1 - dot (x i) (x j)))).
Proof.
have d (u v : unit -> R) : dot u v = u tt * v tt by rewrite /dot (big_pred1 tt) //; case.
move=> h; have := h [finType of bool] [finType of unit] (fun _ _ => 1) (fun b _ => if b then 1 else -1) (fun=> 1) false.
rewrite big_bool !d => k; suff : 0 <= -1 * 1 * (1 * (1 - -1 * 1) + 1 * (1 - -1 * -1)) by lra.
apply: k => [b|b|b]; [|lra|rewrite !d; case: b; lra].
by rewrite /norm d; case: b; [rewrite Rmult_1_l sqrt_1 | have -> : -1 * -1 = 1 by [ring]; rewrite sqrt_1].
Qed.

(* Twin: not bounded by 1000, as derivatives of a layer would be that had such a constant.
   Twin of: slope_three. *)
Theorem not_bounded_slope : ~ forall c, (1 + 2 * c ^ 2) / 3 <= 1000.
Proof. by move=> h; have := h 40; lra. Qed.

(* Twin: nearer by one per cent than two opposite tokens; 1 and -1.
   Twin of: two_tokens_nearer. *)
Theorem not_two_tokens_near : ~ forall B x y, x <> y ->
  Rabs ((two B x y - two B y x) / (x - y)) <= 99 / 100 * Rabs (tanh (B / 4 * (x - y) ^ 2)).
Proof.
move=> h; have ne : 1 <> -1 by lra.
have := h 1 1 (-1) ne; have [_ [_ [_ [_ ->]]]] := two_tokens_nearer 1 ne; last by ring.
have -> : 1 / 4 * (1 - -1) ^ 2 = 1 by field.
have t : 0 < tanh 1.
  rewrite /tanh /sinh /cosh; have l : exp (Ropp 1) < exp 1 by apply: exp_increasing; lra.
  by have := exp_pos (Ropp 1) => p; apply: Rdiv_lt_0_compat; lra.
by rewrite Rabs_pos_eq; lra.
Qed.
