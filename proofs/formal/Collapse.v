(* Depth without anything else: what layers leave of the diameter of their values.

   Layers average, each by rows of its own. The diameter falls in each by tanh of half the oscillation of the scores, or
   by what all weights have in common; with scores that scale with the tokens it collapses doubly exponentially.
   Reader's checklist: [x n i] is the vector of token i behind n layers; scores of a layer are any numbers, so that
   they may depend on the tokens; [\prod_(l < n)] is over layers 0 to n - 1; no skip connection. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Finite Euclid Softmax Diameter.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma Rmult_assoc' x y z : x * (y * z) = x * y * z. Proof. ring. Qed.
Canonical Rmult_law := Monoid.Law Rmult_assoc' Rmult_1_l Rmult_1_r.
Notation "\prod_ ( l < n ) F" := (\big[Rmult/1]_(l < n) F) (at level 36, F at level 36, l, n at level 50) : R_scope.

Lemma tanh_le x : 0 <= x -> tanh x <= x.
Proof.
move=> x0; case: (MVT_gen (fun x => x - tanh x) 0 x (fun x => tanh x ^ 2)) => [y _|y _|c [_ e]].
- rewrite /tanh /sinh /cosh; auto_derive; first by have := exp_pos y; have := exp_pos (- y); lra.
  by have := exp_pos y; have := exp_pos (- y); rewrite /= => *; field; lra.
- rewrite /tanh /sinh /cosh; apply: continuity_pt_minus; first by apply: derivable_continuous_pt; reg.
  apply: derivable_continuous_pt; reg; have := exp_pos y; have := exp_pos (- y); lra.
have t0 : tanh 0 = 0 by rewrite /tanh /sinh /cosh Ropp_0 exp_0; field.
by move: e; rewrite t0; have := pow2_ge_0 (tanh c); nra.
Qed.

Lemma tanh_ge0 x : 0 <= x -> 0 <= tanh x.
Proof.
move=> x0; rewrite /tanh /sinh /cosh; have := exp_pos x; have := exp_pos (- x) => h h'.
have le : exp (- x) <= exp x by case: x0 => [x0|<-]; [left; apply: exp_increasing; lra | rewrite Ropp_0; lra].
by apply: Rmult_le_pos; [lra | left; apply: Rinv_0_lt_compat; lra].
Qed.

Section Layers.
Variables (I K : finType).
Implicit Types (x : nat -> I -> K -> R) (P : nat -> I -> I -> R) (f : nat -> I -> I -> R) (c o : nat -> R).

(* Layers that contract, each by its own factor. *)
Lemma product_contracts x c D : (forall n, 0 <= c n) ->
  (forall n d, (forall i j, norm (fun k => x n i k - x n j k) <= d) ->
    forall i j, norm (fun k => x n.+1 i k - x n.+1 j k) <= d * c n) ->
  (forall i j, norm (fun k => x O i k - x O j k) <= D) ->
  forall n i j, norm (fun k => x n i k - x n j k) <= \prod_(l < n) c l * D.
Proof.
move=> c0 step start; elim=> [|n ih] i j; first by rewrite big_ord0 Rmult_1_l.
by rewrite big_ord_recr /=; have := step n _ ih i j; rewrite [Rmult_law _ _]/=; lra.
Qed.

(* Scores of oscillation o.
   Claim: layers.diameter. *)
Theorem layers_diameter x f o D : (forall n i j k m, f n i j - f n k m <= o n) ->
  (forall n i k, x n.+1 i k = mean (softmax (fun j => - f n i j)) (fun j => x n j k)) ->
  (forall i j, norm (fun k => x O i k - x O j k) <= D) ->
  forall n i j, norm (fun k => x n i k - x n j k) <= \prod_(l < n) tanh (/ 2 * o l) * D.
Proof.
move=> osc layer start n i; have point : inhabited I by constructor.
have o0 m : 0 <= o m by have := osc m i i i i; lra.
move: n i; apply: (product_contracts (c := fun l => tanh (/ 2 * o l)) _ _ start) => [n|n d hd i j].
  by apply: tanh_ge0; have := o0 n; lra.
have -> : norm (fun k => x n.+1 i k - x n.+1 j k) =
    norm (fun k => mean (softmax (fun j => - f n i j)) (fun j => x n j k) -
      mean (softmax (fun m => - f n j m)) (fun j => x n j k)) by apply: norm_ext => k; rewrite !layer.
apply: Rle_trans (mean_distance (softmax_law point _) (softmax_law point _) hd) _.
apply: Rmult_le_compat_l; first by apply: Rle_trans (norm_ge0 _) (hd i i).
have -> : / 2 * o n = 2 * o n / 4 by field.
by apply: softmax_TV => // k m; have := osc n i m i k; have := osc n j k j m; lra.
Qed.

(* Weights of at least eps in each layer: what is in common is lost. *)
Theorem layers_minimum x P eps D : (forall n i, law (P n i)) -> (forall n i j, eps n <= P n i j) ->
  (forall n i k, x n.+1 i k = mean (P n i) (fun j => x n j k)) ->
  (forall i j, norm (fun k => x O i k - x O j k) <= D) ->
  forall n i j, norm (fun k => x n i k - x n j k) <= \prod_(l < n) (1 - INR #|I| * eps l) * D.
Proof.
move=> hP he layer start.
apply: (product_contracts (c := fun l => 1 - INR #|I| * eps l) _ _ start) => [n|n d hd i j].
  case: (pickP (fun _ : I => true)) => [i _|none].
    have -> : 1 - INR #|I| * eps n = \sum_l (P n i l - eps n).
      rewrite sumB (proj2 (hP n i)); congr (_ - _).
      rewrite big_const; elim: #|I| => [|m ih]; first by rewrite /=; ring.
      by rewrite S_INR iterS -ih; ring.
    by apply: sum_ge0 => l; have := he n i l; lra.
  by rewrite (eq_card0 none) /=; lra.
have -> : norm (fun k => x n.+1 i k - x n.+1 j k) =
    norm (fun k => mean (P n i) (fun j => x n j k) - mean (P n j) (fun j => x n j k)).
  by apply: norm_ext => k; rewrite !layer.
exact: rows_contract.
Qed.

(* Each layer at least cubes a small diameter: what follows for L layers.
   Part of: lipschitz.collapse. *)
Theorem doubly_exponential b v (D : nat -> R) : 0 <= b -> 0 <= v -> (forall n, 0 <= D n) ->
  (forall n, D n.+1 <= v * (D n * tanh (b * D n ^ 2 / 4))) ->
  forall n e, Nat.pow 3 n = Nat.add (Nat.mul 2 e) 1 -> D n <= (b * v / 4) ^ e * D O ^ Nat.pow 3 n.
Proof.
move=> b0 v0 D0 step; have w0 : 0 <= b * v / 4 by have := Rmult_le_pos _ _ b0 v0; lra.
elim=> [|n ih] e; first by move=> /= he; have -> : e = O by [lia]; rewrite /=; lra.
move=> he; have [m hm] : exists m, Nat.pow 3 n = Nat.add (Nat.mul 2 m) 1.
  by elim: n {ih he} => [|n [m hm]]; [exists O | exists (Nat.add (Nat.mul 3 m) 1); rewrite /= hm; lia].
have ee : e = Nat.add (Nat.mul 3 m) 1 by move: he; rewrite /= hm; lia.
have h := ih m hm; have q0 : 0 <= b * D n ^ 2 / 4 by have := Rmult_le_pos _ _ b0 (pow2_ge_0 (D n)); lra.
apply: (Rle_trans _ (b * v / 4 * D n ^ 3)).
  apply: Rle_trans (step n) _; have -> : b * v / 4 * D n ^ 3 = v * (D n * (b * D n ^ 2 / 4)) by field.
  by apply: Rmult_le_compat_l => //; apply: Rmult_le_compat_l => //; apply: tanh_le.
have -> : (b * v / 4) ^ e * D O ^ Nat.pow 3 n.+1 = b * v / 4 * ((b * v / 4) ^ m * D O ^ Nat.pow 3 n) ^ 3.
  have -> : Nat.pow 3 n.+1 = Nat.mul (Nat.pow 3 n) 3 by rewrite /= ; lia.
  have -> : e = Nat.add (Nat.mul m 3) 1 by lia.
  by rewrite pow_add !pow_mult pow_1; ring.
by apply: Rmult_le_compat_l => //; apply: pow_incr; split.
Qed.

(* Attention without a residual, scores of the slope of a form of norm b, values V: layers that do so.
   Part of: lipschitz.collapse.
   No twin: [diameter_tanh] in [doubly_exponential], which have theirs. *)
Theorem attention_collapses x (a : nat -> I -> I -> R) (V : K -> K -> R) b v D : 0 <= b -> 0 <= v ->
  (forall n i j l m, a n i l - a n j l - (a n i m - a n j m) <=
    b * norm (fun k => x n i k - x n j k) * norm (fun k => x n l k - x n m k)) ->
  (forall u, norm (fun k => \sum_l (V k l * u l)) <= v * norm u) ->
  (forall n i k, x n.+1 i k = \sum_l (V k l * mean (softmax (a n i)) (fun j => x n j l))) ->
  (forall i j, norm (fun k => x O i k - x O j k) <= D) ->
  forall n e, Nat.pow 3 n = Nat.add (Nat.mul 2 e) 1 ->
  forall i j, norm (fun k => x n i k - x n j k) <= (b * v / 4) ^ e * D ^ Nat.pow 3 n.
Proof.
move=> b0 v0 ha hV layer start n e he i; have D0 := Rle_trans _ _ _ (norm_ge0 _) (start i i).
pose d := fix d n := if n is S m then v * (d m * tanh (b * d m ^ 2 / 4)) else D.
have d0 m : 0 <= d m.
  elim: m => [|m ih] //=; apply: Rmult_le_pos => //; apply: Rmult_le_pos => //; apply: tanh_ge0.
  by have := Rmult_le_pos _ _ b0 (pow2_ge_0 (d m)); rewrite /=; lra.
have step m : d m.+1 <= v * (d m * tanh (b * d m ^ 2 / 4)) by right.
have bound m : forall i j, norm (fun k => x m i k - x m j k) <= d m.
  elim: m => [|m ih] k l //; have := diameter_tanh (ha m) b0 ih k l => h.
  have -> : norm (fun q => x m.+1 k q - x m.+1 l q) = norm (fun q => \sum_r (V q r *
      (mean (softmax (a m k)) (fun j => x m j r) - mean (softmax (a m l)) (fun j => x m j r)))).
    by apply: norm_ext => q; rewrite !layer -sumB; apply: sum_ext => r; ring.
  by apply: Rle_trans (hV _) _; apply: Rmult_le_compat_l.
by move=> j; apply: Rle_trans (bound n i j) (doubly_exponential b0 v0 d0 step he).
Qed.
End Layers.

(* Twin: a quarter of the oscillation; two tokens 1 and -1, scores zero for themselves and -4 ln 2 for each other.
   Twin of: layers_diameter. *)
Theorem not_quarter_oscillation : ~ forall (I K : finType) (f : I -> I -> R) (x : I -> K -> R) o D,
  (forall i j k m, f i j - f k m <= o) -> (forall i j, norm (fun k => x i k - x j k) <= D) ->
  forall i j, norm (fun k => mean (softmax (fun m => - f i m)) (fun m => x m k) -
    mean (softmax (fun m => - f j m)) (fun m => x m k)) <= tanh (/ 4 * o) * D.
Proof.
have norm1 (u : unit -> R) : norm u = Rabs (u tt).
  by rewrite /norm /dot (big_pred1 tt); [exact: sqrt_Rsqr_abs | case].
have l0 : 0 < ln 2 by rewrite -ln_1; apply: ln_increasing; lra.
have e2 : exp (ln 2) = 2 by apply: exp_ln; lra.
move=> h; have := h [finType of bool] [finType of unit] (fun b c => if b == c then 0 else 4 * ln 2)
  (fun b _ => if b then 1 else -1) (4 * ln 2) 2.
move=> /(_ (fun i j k m => ltac:(case: eqP; case: eqP; lra))).
move=> /(_ (fun i j => ltac:(rewrite norm1; apply: Rabs_le; case: i; case: j; lra))) /(_ true false).
rewrite norm1 /mean /softmax /normaliser !big_bool /= Ropp_0 exp_0 exp_Ropp.
have -> : exp (4 * ln 2) = 16.
  by have -> : 4 * ln 2 = ln 2 + ln 2 + (ln 2 + ln 2) by [ring]; rewrite !exp_plus e2; ring.
have -> : / 4 * (4 * ln 2) = ln 2 by field.
rewrite /tanh /sinh /cosh exp_Ropp e2 => k; move: (Rle_trans _ _ _ (Rle_abs _) k); lra.
Qed.

(* Twin: a plain residual of equal weight, which keeps half of the diameter.
   Twin of: doubly_exponential. *)
Theorem not_with_residual : ~ forall (D : nat -> R), (forall n, 0 <= D n) ->
  (forall n, D n.+1 <= (D n + D n * tanh (D n ^ 2 / 4)) / 2) -> D O = 1 -> D 2%N <= / 4 ^ 4.
Proof.
move=> h; pose D := fix D n := if n is S m then D m / 2 else 1.
have D0 n : 0 <= D n by elim: n => [|n] /=; lra.
have := h D D0 => /(_ (fun n => ltac:(have t : 0 <= tanh (D n ^ 2 / 4) by
  [apply: tanh_ge0; have := pow2_ge_0 (D n); lra]; have := Rmult_le_pos _ _ (D0 n) t; rewrite /=; lra))) /(_ erefl).
by rewrite /=; lra.
Qed.
