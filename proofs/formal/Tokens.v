(* Few tokens in closed form: two tokens under one layer, three tokens with an unbounded slope, the threshold
   between two comparisons of clusters, and the lowest token of a half-space.

   Reader's checklist: [two B x y] is the output of the token x among x and y of equal masses, scores B x x and B x
   y, values the tokens; [slope_three] is a derivative in the first token, which is query, key and value at once;
   [lowest_rises] has velocities projected to the tangent space, weights of any kind that are not negative.
   cone.monotone also says when there is equality. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Definition two (B x y : R) := (exp (B * x * x) * x + exp (B * x * y) * y) / (exp (B * x * x) + exp (B * x * y)).

(* Two tokens come together by this factor.
   Part of: lipschitz.two-tokens. *)
Theorem two_tokens_ratio B x y : x <> y ->
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

(* Twin: below the hyperplane the lowest token does not rise; tokens -1 and 1 on the line. *)
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

(* Twin: not bounded by 1000, as derivatives of a layer would be that had such a constant. *)
Theorem not_bounded_slope : ~ forall c, (1 + 2 * c ^ 2) / 3 <= 1000.
Proof. by move=> h; have := h 40; lra. Qed.
