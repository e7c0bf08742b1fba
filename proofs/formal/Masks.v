(* Softmax attention as sums that may be cut: masks, keys that are dropped, streams that are merged, hulls, causal
   masks.

   Reader's checklist: a mask or a set of keys is a function [A : I -> bool], and [cut A p] are the weights on A
   divided by their sum, with [kept A p] that sum; scores are real, so that no weight vanishes; [TV] is half of the
   l_1 distance, so that "moves by twice the mass" of the claims is [TV = mass] here. Values are real numbers or
   vectors of any dimension. A stream is a reference, a sum and an output; the claim takes the largest scores for
   references, here they are any. variant.top-k also says which k keys are best to keep. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Softmax Transport Euclid Diameter.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Cut.
Variable I : finType.
Implicit Types (p s v : I -> R) (A : I -> bool).

Definition kept A p := \sum_i (if A i then p i else 0).
Definition lost A p := \sum_i (if A i then 0 else p i).
Definition cut A p i := if A i then p i / kept A p else 0.

(* Softmax of the scores in A alone: the score of every other key is minus infinity. *)
Definition masked A s i := if A i then exp (s i) / \sum_j (if A j then exp (s j) else 0) else 0.

Lemma kept_lost A p : law p -> kept A p + lost A p = 1.
Proof. by case=> _ <-; rewrite -sumD; apply: sum_ext => i; case: (A i); ring. Qed.

Lemma kept_gt0 A p : (forall i, 0 <= p i) -> (exists i, A i /\ 0 < p i) -> 0 < kept A p.
Proof.
move=> h [i [Ai pi]]; apply: (Rlt_le_trans _ (p i)) => //.
have -> : p i = (fun j => if A j then p j else 0) i by rewrite Ai.
by apply: sum_term => j; case: (A j); [apply: h | lra].
Qed.

Lemma cut_law A p : (forall i, 0 <= p i) -> 0 < kept A p -> law (cut A p).
Proof.
move=> h k; split=> [i|].
  by rewrite /cut; case: (A i); [apply: Rmult_le_pos => //; left; apply: Rinv_0_lt_compat | lra].
have -> : \sum_i cut A p i = kept A p * / kept A p.
  by rewrite /kept -sumZr; apply: sum_ext => i; rewrite /cut; case: (A i); rewrite /Rdiv ?Rmult_0_l.
by field; lra.
Qed.

(* A mask conditions the law.
   Part of: softmax.mask. *)
Theorem mask_conditions A s : (exists i, A i) -> forall i, masked A s i = cut A (softmax s) i.
Proof.
case=> k Ak i; have point : inhabited I by constructor.
have n0 := normaliser_gt0 point s.
have m0 : 0 < \sum_j (if A j then exp (s j) else 0).
  apply: (Rlt_le_trans _ (exp (s k))); first exact: exp_pos.
  have -> : exp (s k) = (fun j => if A j then exp (s j) else 0) k by rewrite Ak.
  by apply: sum_term => j; case: (A j); [left; apply: exp_pos | lra].
have e : kept A (softmax s) = (\sum_j (if A j then exp (s j) else 0)) / normaliser s.
  by rewrite /kept /Rdiv -sumZr; apply: sum_ext => j; rewrite /softmax; case: (A j); rewrite /Rdiv ?Rmult_0_l.
rewrite /masked /cut e; case: (A i) => //; rewrite /softmax; field; lra.
Qed.

(* It moves the law by the mass that it removes: in l_1 by twice that mass.
   Part of: softmax.mask, variant.top-k. *)
Theorem mask_moves A p : law p -> 0 < kept A p -> TV (cut A p) p = lost A p.
Proof.
move=> hp k; have hl := kept_lost A hp.
have l0 : 0 <= lost A p by apply: sum_ge0 => i; case: (A i); [lra | apply: (proj1 hp)].
rewrite TV_sym (TV_excess hp (cut_law (proj1 hp) k)); apply: sum_ext => i.
rewrite /excess /cut; have := proj1 hp i; case: (A i) => pi; last by rewrite Rmax_left; lra.
rewrite Rmax_right //; suff : p i <= p i / kept A p by lra.
rewrite -{1}(Rmult_1_r (p i)); apply: Rmult_le_compat_l => //.
by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
Qed.
(* Both as the claim has them.
   Claim: softmax.mask. *)
Theorem mask A s : (exists i, A i) ->
  (forall i, masked A s i = if A i then softmax s i / \sum_j (if A j then softmax s j else 0) else 0) /\
  \sum_i Rabs (masked A s i - softmax s i) = 2 * \sum_i (if A i then 0 else softmax s i).
Proof.
move=> some; have e := mask_conditions s some; split=> [i|]; first exact: e.
case: some => k Ak; have point : inhabited I by constructor.
have hp := softmax_law point s.
have := mask_moves (A := A) hp (kept_gt0 (proj1 hp) (ex_intro _ k (conj Ak (softmax_gt0 point s k)))).
rewrite /TV /lost => h; rewrite -h; have -> : \sum_i Rabs (masked A s i - softmax s i) =
    \sum_i Rabs (cut A (softmax s) i - softmax s i) by apply: sum_ext => i; rewrite e.
by field.
Qed.
End Cut.

(* Dropped keys: an output moves by at most the dropped mass times the diameter of the values.
   Part of: variant.top-k. *)
Theorem dropped_keys (I K : finType) (A : I -> bool) (p : I -> R) (v : I -> K -> R) D :
  law p -> 0 < kept A p -> (forall i j, norm (fun k => v i k - v j k) <= D) ->
  norm (fun k => mean (cut A p) (fun i => v i k) - mean p (fun i => v i k)) <= lost A p * D.
Proof.
move=> hp k hD; rewrite -(mask_moves hp k) Rmult_comm.
by apply: mean_distance => //; apply: cut_law => //; apply: (proj1 hp).
Qed.

(* Twin: half of the dropped mass is no bound, two keys of equal weight of which one is dropped.
   Twin of: dropped_keys. *)
Theorem not_half_the_dropped : ~ forall (I K : finType) (A : I -> bool) (p : I -> R) (v : I -> K -> R) D,
  law p -> 0 < kept A p -> (forall i j, norm (fun k => v i k - v j k) <= D) ->
  norm (fun k => mean (cut A p) (fun i => v i k) - mean p (fun i => v i k)) <= / 2 * lost A p * D.
Proof.
have norm1 (u : unit -> R) : norm u = Rabs (u tt).
  by rewrite /norm /dot (big_pred1 tt); [exact: sqrt_Rsqr_abs | case].
move=> h; have := h [finType of bool] [finType of unit] (fun b => b) (fun=> / 2) (fun b _ => if b then 1 else 0) 1.
rewrite norm1 /mean /lost /cut /kept !big_bool /= => k.
have : Rabs (/ 2 / (/ 2 + 0) * 1 + 0 * 0 - (/ 2 * 1 + / 2 * 0)) <= / 2 * (0 + / 2) * 1.
  apply: k => [||b c]; last by rewrite norm1; apply: Rabs_le; case: b; case: c; lra.
    by split=> [b|]; rewrite ?big_bool /=; lra.
  lra.
have -> : / 2 / (/ 2 + 0) * 1 + 0 * 0 - (/ 2 * 1 + / 2 * 0) = / 2 by field.
by rewrite Rabs_pos_eq; lra.
Qed.

(* The output lies in the convex hull: it is a mean of the values, and no half-space that has them excludes it.
   Claim: variant.hull. *)
Theorem hull (I K : finType) (p : I -> R) (v : I -> K -> R) (u : K -> R) c : law p ->
  (forall i, dot u (v i) <= c) -> dot u (fun k => mean p (fun i => v i k)) <= c.
Proof.
move=> hp h; rewrite dotC dot_mean -[X in _ <= X](mean_const _ hp); apply: mean_le => // i; rewrite dotC; exact: h.
Qed.

(* Twin: weights that sum to one and may be negative leave the hull.
   Twin of: hull. *)
Theorem not_hull_signed : ~ forall (I K : finType) (p : I -> R) (v : I -> K -> R) (u : K -> R) c, \sum_i p i = 1 ->
  (forall i, dot u (v i) <= c) -> dot u (fun k => mean p (fun i => v i k)) <= c.
Proof.
have dot1 (u w : unit -> R) : dot u w = u tt * w tt by rewrite /dot (big_pred1 tt) //; case.
move=> h; have := h [finType of bool] [finType of unit] (fun b => if b then 2 else -1) (fun b _ => if b then 1 else 0)
  (fun=> 1) 1; rewrite dot1 /mean !big_bool /= => k.
suff : 1 * (2 * 1 + -1 * 0) <= 1 by lra.
by apply: k => [|b]; [lra | rewrite dot1; case: b; lra].
Qed.

(* Streams. Keys are dealt to parts; each part keeps a reference m_p, l_p = sum exp(s - m_p), o_p = sum exp(s - m_p)
   v. *)
Section Merge.
Variables (I P : finType) (part : I -> P).
Implicit Types (s v : I -> R) (m : P -> R) (top : R).

Definition stream_sum s m r := \sum_i (if part i == r then exp (s i - m r) else 0).
Definition stream_out s v m r := \sum_i (if part i == r then exp (s i - m r) * v i else 0).

Lemma merged_sum s v m top : \sum_r (stream_out s v m r * exp (m r - top)) = \sum_i (exp (s i - top) * v i).
Proof.
have -> : \sum_r (stream_out s v m r * exp (m r - top)) =
    \sum_r \sum_i (if r == part i then exp (s i - top) * v i else 0).
  apply: sum_ext => r; rewrite /stream_out -sumZr; apply: sum_ext => i; rewrite eq_sym.
  case: eqP => _; last by ring.
  have -> : s i - top = (s i - m r) + (m r - top) by ring.
  by rewrite exp_plus; ring.
by rewrite sum_exchange; apply: sum_ext => i; rewrite -big_mkcond big_pred1_eq.
Qed.

(* Merged streams give the softmax mean, whatever the references; the claim takes the largest scores.
   Part of: engine.merge. *)
Theorem merge_streams s v m top : inhabited I ->
  (\sum_r (stream_out s v m r * exp (m r - top))) / (\sum_r (stream_sum s m r * exp (m r - top))) =
  mean (softmax s) v.
Proof.
move=> point; have n0 := normaliser_gt0 point s.
have -> : \sum_r (stream_sum s m r * exp (m r - top)) = \sum_r (stream_out s (fun=> 1) m r * exp (m r - top)).
  apply: sum_ext => r; congr (_ * _); apply: sum_ext => i; case: eqP => _ //; ring.
rewrite !merged_sum.
have -> : \sum_i (exp (s i - top) * v i) = exp (- top) * (normaliser s * mean (softmax s) v).
  rewrite /mean -!sumZ; apply: sum_ext => i; rewrite /Rminus exp_plus /softmax; field; lra.
have -> : \sum_i (exp (s i - top) * 1) = exp (- top) * normaliser s.
  rewrite /normaliser -sumZ; apply: sum_ext => i; rewrite /Rminus exp_plus; ring.
by field; split; [lra | have := exp_pos (- top); lra].
Qed.
End Merge.

(* A stream over the keys in A: a reference m, the sum of exp(s - m), the sum of exp(s - m) v. *)
Definition stream (I : finType) (A : I -> bool) (s v : I -> R) m : R * R * R :=
  (m, \sum_i (if A i then exp (s i - m) else 0), \sum_i (if A i then exp (s i - m) * v i else 0)).

(* Streams merged to the reference m. *)
Definition merged (P : finType) (streams : P -> R * R * R) m : R * R * R :=
  (m, \sum_r ((streams r).1.2 * exp ((streams r).1.1 - m)), \sum_r ((streams r).2 * exp ((streams r).1.1 - m))).

Lemma merged_over (I P : finType) (A : P -> I -> bool) (s v : I -> R) (m : P -> R) top :
  (forall r r' i, A r i -> A r' i -> r = r') ->
  \sum_r ((\sum_i (if A r i then exp (s i - m r) * v i else 0)) * exp (m r - top)) =
  \sum_i (if [exists r, A r i] then exp (s i - top) * v i else 0).
Proof.
move=> disjoint.
have -> : \sum_r ((\sum_i (if A r i then exp (s i - m r) * v i else 0)) * exp (m r - top)) =
    \sum_r \sum_i (if A r i then exp (s i - top) * v i else 0).
  apply: sum_ext => r; rewrite -sumZr; apply: sum_ext => i; case: (A r i); last by ring.
  have -> : s i - top = (s i - m r) + (m r - top) by ring.
  by rewrite exp_plus; ring.
rewrite sum_exchange; apply: sum_ext => i; case: existsP => [[r Ar]|none].
  rewrite (bigD1 r) //= Ar big1 ?Rplus_0_r // => r' ne.
  by case Ar' : (A r' i) => //; move: ne; rewrite (disjoint _ _ _ Ar Ar') eqxx.
by rewrite big1 // => r _; case Ar : (A r i) => //; case: none; exists r.
Qed.

(* What is merged is again a stream, over the keys of all its parts, so that merges nest, in any order
   and to any depth; and the output of a stream is the softmax mean over its keys.
   Claim: engine.merge. *)
Theorem merge_nested (I P : finType) (A : P -> I -> bool) (s v : I -> R) (m : P -> R) top :
  (forall r r' i, A r i -> A r' i -> r = r') -> let keys i := [exists r, A r i] in
  merged (fun r => stream (A r) s v (m r)) top = stream keys s v top /\
  forall B : I -> bool, (exists i, B i) -> let st := stream B s v top in
    st.2 / st.1.2 = mean (masked B s) v /\ ((forall i, B i) -> st.2 / st.1.2 = mean (softmax s) v).
Proof.
move=> disjoint keys; split.
  rewrite /merged /stream /=; congr (_, _, _); last exact: merged_over.
  have := merged_over s (fun=> 1) m top disjoint; rewrite -/keys => e.
  transitivity (\sum_i (if keys i then exp (s i - top) * 1 else 0)); last by apply: sum_ext => i; case: (keys i); ring.
  by rewrite -e; apply: sum_ext => r; congr (_ * _); apply: sum_ext => i; case: (A r i); ring.
move=> {disjoint keys m}A [k Ak] st.
have point : inhabited I by constructor.
have m0 : 0 < \sum_j (if A j then exp (s j) else 0).
  apply: (Rlt_le_trans _ (exp (s k))); first exact: exp_pos.
  have -> : exp (s k) = (fun j => if A j then exp (s j) else 0) k by rewrite Ak.
  by apply: sum_term => j; case: (A j); [left; apply: exp_pos | lra].
have e : st.2 / st.1.2 = mean (masked A s) v.
  rewrite /st /stream /=; set Z := \sum_j _ in m0.
  have -> : \sum_i (if A i then exp (s i - top) * v i else 0) = exp (- top) * (Z * mean (masked A s) v).
    rewrite /mean -!sumZ; apply: sum_ext => i; rewrite /masked -/Z /Rminus exp_plus.
    by case: (A i); [field; lra | ring].
  have -> : \sum_i (if A i then exp (s i - top) else 0) = exp (- top) * Z.
    by rewrite /Z -sumZ; apply: sum_ext => i; rewrite /Rminus exp_plus; case: (A i); ring.
  by field; split; [lra | have := exp_pos (- top); lra].
split=> // every; rewrite e; apply: sum_ext => i; rewrite /masked every /softmax /normaliser; congr (_ / _ * _).
by apply: sum_ext => j; rewrite every.
Qed.

(* Twin: parts that share a key, which is then counted twice; one key, dealt to two parts.
   Twin of: merge_nested. *)
Theorem not_merged_overlapping : ~ forall (I P : finType) (A : P -> I -> bool) (s v : I -> R) (m : P -> R) top,
  merged (fun r => stream (A r) s v (m r)) top = stream (fun i => [exists r, A r i]) s v top.
Proof.
have s1 (f : unit -> R) : \sum_i f i = f tt by rewrite (big_pred1 tt) //; case.
move=> h; have := h [finType of unit] [finType of bool] (fun _ _ => true) (fun=> 0) (fun=> 0) (fun=> 0) 0.
rewrite /merged /stream /= => e; have {e} := congr1 (fun st => st.1.2) e; rewrite /= big_bool /= !s1.
have -> : [exists r : bool, true] by apply/existsP; exists true.
by rewrite Rminus_0_r exp_0; lra.
Qed.

(* Twin: the mean of the softmax means of the parts; three keys dealt to parts of two and one.
   Twin of: merge_streams, merge_nested. *)
Theorem not_averaged_parts : ~ forall v : option bool -> R, mean (softmax (fun=> 0)) v =
  / 2 * mean (masked (fun i => i != None) (fun=> 0)) v + / 2 * mean (masked (fun i => i == None) (fun=> 0)) v.
Proof.
have three (f : option bool -> R) : \sum_i f i = f None + f (Some true) + f (Some false).
  rewrite (bigD1 None) //= (bigD1 (Some true)) //= (bigD1 (Some false)) //= big1; first by ring.
  by case=> [[]|].
move=> h; have := h (fun i => if i is None then 1 else 0).
by rewrite /mean /softmax /normaliser /masked !three /= !exp_0; lra.
Qed.

(* A causal mask: what a query sees and answers depends on the tokens up to it alone, for any scores and values that do.
   Part of: layer.prefix. *)
Theorem causal_prefix (n : nat) (X : Type) (score : X -> X -> R) (value : X -> R) (x y : 'I_n -> X) (i : 'I_n) :
  (forall j : 'I_n, leq j i -> x j = y j) ->
  mean (masked (fun j : 'I_n => leq j i) (fun j => score (x i) (x j))) (fun j => value (x j)) =
  mean (masked (fun j : 'I_n => leq j i) (fun j => score (y i) (y j))) (fun j => value (y j)).
Proof.
move=> h; apply: sum_ext => j; rewrite /masked; case le: (leq j i); last by ring.
rewrite (h j le) (h i (leqnn i)); congr (_ / _ * _); apply: sum_ext => k.
by case lk: (leq k i) => //; rewrite (h k lk).
Qed.

(* The output of a shorter input is the beginning of that of the longer one, and the first output is the first value.
   Claim: layer.prefix. *)
Theorem causal_shorter (m n : nat) (X : Type) (score : X -> X -> R) (value : X -> R) (x : 'I_n -> X) (le : leq m n) :
  let out k (y : 'I_k -> X) (i : 'I_k) :=
    mean (masked (fun j : 'I_k => leq j i) (fun j => score (y i) (y j))) (fun j => value (y j)) in
  (forall i : 'I_m, out m (fun j => x (widen_ord le j)) i = out n x (widen_ord le i)) /\
  forall i : 'I_n, nat_of_ord i = O -> out n x i = value (x i).
Proof.
have narrow (i : 'I_m) (f : 'I_n -> R) :
    \sum_j (if leq (nat_of_ord j) i then f j else 0) = \sum_j (if leq (nat_of_ord j) i then f (widen_ord le j) else 0).
  rewrite -!big_mkcond -(@big_ord_narrow_cond R 0 Rplus m n (fun j : 'I_n => leq j i) f le); apply: eq_bigl => j.
  by case ji : (leq j i) => //=; rewrite (leq_ltn_trans ji).
move=> out; split=> i.
  rewrite /out /mean /masked.
  have pull k (y : 'I_k -> X) (l : 'I_k) (c : R) :
      \sum_j ((if leq (nat_of_ord j) l then exp (score (y l) (y j)) / c else 0) * value (y j)) =
      \sum_j (if leq (nat_of_ord j) l then exp (score (y l) (y j)) / c * value (y j) else 0).
    by apply: sum_ext => j; case: (leq j l); ring.
  rewrite !pull narrow; apply: sum_ext => j; case: (leq j i) => //; congr (_ / _ * _).
  by rewrite narrow.
move=> i0; rewrite /out /mean /masked.
have one (f : 'I_n -> R) : \sum_j (if leq (nat_of_ord j) i then f j else 0) = f i.
  rewrite (bigD1 i) //= leqnn big1 ?Rplus_0_r // => j ne; case ji : (leq j i) => //; move: ne.
  by have -> : j = i by [apply: val_inj; move: ji; rewrite /= i0 leqn0 => /eqP]; rewrite eqxx.
rewrite one; have e0 := exp_pos (score (x i) (x i)).
rewrite -[RHS](one (fun j => value (x j))); apply: sum_ext => j; case ji : (leq j i); last by ring.
have -> : j = i by apply: val_inj; move: ji; rewrite /= i0 leqn0 => /eqP.
by field; lra.
Qed.

(* Twin: without the mask it does not, two tokens and scores zero.
   Twin of: causal_prefix, causal_shorter. *)
Theorem not_prefix_unmasked : ~ forall (x y : 'I_2 -> R) (i : 'I_2), (forall j : 'I_2, leq j i -> x j = y j) ->
  mean (softmax (fun=> 0)) x = mean (softmax (fun=> 0)) y.
Proof.
move=> h; have := h (fun=> 0) (fun j => if (j : nat) is O then 0 else 1) ord0.
rewrite /mean /softmax /normaliser !big_ord_recl !big_ord0 /= exp_0 => k.
suff : 1 / (1 + (1 + 0)) * 0 + (1 / (1 + (1 + 0)) * 0 + 0) = 1 / (1 + (1 + 0)) * 0 + (1 / (1 + (1 + 0)) * 1 + 0) by lra.
by apply: k => -[[|j] lt].
Qed.

(* Without a mask the order of keys, with their values, does not matter, and outputs are permuted as the tokens are.
   Claim: layer.equivariance. *)
Theorem equivariance (I : finType) (X : Type) (turn : I -> I) (score : X -> X -> R) (value : X -> R) (x : I -> X) :
  injective turn ->
  (forall (a v : I -> R), mean (softmax (fun j => a (turn j))) (fun j => v (turn j)) = mean (softmax a) v) /\
  (forall i, mean (softmax (fun j => score (x (turn i)) (x (turn j)))) (fun j => value (x (turn j))) =
    mean (softmax (fun j => score (x (turn i)) (x j))) (fun j => value (x j))).
Proof.
move=> inj; have keys (a v : I -> R) : mean (softmax (fun j => a (turn j))) (fun j => v (turn j)) = mean (softmax a) v.
  have n : normaliser (fun j => a (turn j)) = normaliser a by rewrite [RHS](reindex_inj inj).
  by rewrite /mean [RHS](reindex_inj inj); apply: sum_ext => j; rewrite /softmax n.
by split=> // i; apply: (keys (fun j => score (x (turn i)) (x j)) (fun j => value (x j))).
Qed.

(* Twin: the keys permuted without their values.
   Twin of: equivariance. *)
Theorem not_keys_alone : ~ forall (I : finType) (turn : I -> I) (a v : I -> R), injective turn ->
  mean (softmax (fun j => a (turn j))) v = mean (softmax a) v.
Proof.
move=> h; have := h [finType of bool] negb (fun b => if b then 1 else 0) (fun b => if b then 1 else 0) (can_inj negbK).
rewrite /mean /softmax /normaliser !big_bool /= exp_0; have e := exp_ineq1_le 1; set E := exp 1 in e * => k.
have : 1 / (1 + E) = E / (E + 1) by move: k; rewrite !Rmult_1_r !Rmult_0_r !Rplus_0_r.
have -> : E / (E + 1) = 1 - 1 / (1 + E) by field; lra.
have : 1 / (1 + E) <= 1 / 3 by apply: Rmult_le_compat_l; [lra | apply: Rinv_le_contravar; lra].
by lra.
Qed.

(* Twin: the law moves by half of the mass that is removed; two equal weights.
   Twin of: mask_moves, mask. *)
Theorem not_half_the_mass : ~ forall (I : finType) (A : I -> bool) (p : I -> R), law p -> 0 < kept A p ->
  TV (cut A p) p = / 2 * lost A p.
Proof.
have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
move=> h; have := h [finType of bool] (fun b => b) _ half.
rewrite /kept /lost /TV /cut /kept !big_bool /= => /(_ ltac:(lra)).
have -> : / 2 / (/ 2 + 0) - / 2 = / 2 by field.
by rewrite Rminus_0_l Rabs_Ropp Rabs_pos_eq; lra.
Qed.

(* Twin: weights outside the mask set to zero and no others changed; two equal scores.
   Twin of: mask_conditions, mask. *)
Theorem not_mask_restricts : ~ forall (I : finType) (A : I -> bool) (s : I -> R) i, (exists i, A i) ->
  masked A s i = if A i then softmax s i else 0.
Proof.
move=> h; have := h _ (fun b : bool => b) (fun=> 0) true (ex_intro _ true isT).
by rewrite /masked /softmax /normaliser !big_bool /= exp_0; lra.
Qed.
