(* Sums of reals over a finite type, and laws on it.

   Real numbers, their order and their functions are those of the standard library, so that [lra], [nra], [field] and
   [interval] apply; the sums are those of mathcomp, so that they can be split, exchanged and reindexed. Reader's
   checklist: [law p] is nonnegative and sums to one; [mean] and [variance] are under such a law, and [variance] is
   divided by nothing. softmax.variance has three outcomes; here there are any number. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype bigop.
From Coq Require Import Reals Lra Psatz.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma Rplus_assoc' x y z : x + (y + z) = x + y + z. Proof. ring. Qed.
Canonical Rplus_law := Monoid.Law Rplus_assoc' Rplus_0_l Rplus_0_r.
Canonical Rplus_com := Monoid.ComLaw Rplus_comm.
Canonical Rmult_mul := Monoid.MulLaw Rmult_0_l Rmult_0_r.
Canonical Rplus_add := Monoid.AddLaw Rmult_plus_distr_r Rmult_plus_distr_l.

Notation "\sum_ i F" := (\big[Rplus/0]_i F) (at level 41, F at level 41, i at level 0,
  format "'[' \sum_ i '/  '  F ']'") : R_scope.

Section Sums.
Variable I : finType.
Implicit Types f g : I -> R.

Lemma sum_ext f g : (forall i, f i = g i) -> \sum_i f i = \sum_i g i.
Proof. by move=> h; apply: eq_bigr => i _. Qed.

Lemma sumD f g : \sum_i (f i + g i) = \sum_i f i + \sum_i g i.
Proof. exact: big_split. Qed.

Lemma sumZ c f : \sum_i (c * f i) = c * \sum_i f i.
Proof. by rewrite big_distrr. Qed.

Lemma sumZr c f : \sum_i (f i * c) = (\sum_i f i) * c.
Proof. by rewrite big_distrl. Qed.

Lemma sumB f g : \sum_i (f i - g i) = \sum_i f i - \sum_i g i.
Proof.
rewrite (sum_ext (g := fun i => f i + (-1) * g i)); last by move=> i; ring.
by rewrite sumD sumZ; ring.
Qed.

Lemma sum0 : \big[Rplus/0]_(i : I) 0 = 0.
Proof. exact: big1_eq. Qed.

Lemma sum_le f g : (forall i, f i <= g i) -> \sum_i f i <= \sum_i g i.
Proof. by move=> h; elim/big_ind2: _ => [|a b c d|i _]; [lra | lra | exact: h]. Qed.

Lemma sum_ge0 f : (forall i, 0 <= f i) -> 0 <= \sum_i f i.
Proof. by move=> h; have := sum_le h; rewrite sum0. Qed.

(* One term and the rest. *)
Lemma sum_term f j : (forall i, 0 <= f i) -> f j <= \sum_i f i.
Proof.
move=> h; rewrite (bigD1 j) //=.
suff : 0 <= \big[Rplus/0]_(i | i != j) f i by lra.
by elim/big_ind: _ => [|x y|i _]; [lra | lra | exact: h].
Qed.

Lemma sum_gt0 f : inhabited I -> (forall i, 0 < f i) -> 0 < \sum_i f i.
Proof.
case=> j h; apply: (Rlt_le_trans _ (f j)) => //.
by apply: sum_term => i; left.
Qed.

Lemma sum_eq0 f : (forall i, 0 <= f i) -> \sum_i f i = 0 -> forall i, f i = 0.
Proof. by move=> h h0 i; have := sum_term i h; have := h i; lra. Qed.

Lemma sum_abs f : Rabs (\sum_i f i) <= \sum_i Rabs (f i).
Proof.
elim/big_ind2: _ => [|a b c d h h'|i _]; [by rewrite Rabs_R0; lra | | lra].
by apply: Rle_trans (Rabs_triang _ _) _; lra.
Qed.

Lemma sum_const c : \big[Rplus/0]_(i : I) c = INR #|I| * c.
Proof.
rewrite big_const; elim: #|I| => [|m ih]; first by rewrite /=; ring.
by rewrite S_INR iterS ih; ring.
Qed.

(* A largest value exists. *)
Lemma largest (f : I -> R) : inhabited I -> exists i, forall j, f j <= f i.
Proof.
case=> o; have h (r : seq I) : exists i, forall j, j \in r -> f j <= f i.
  elim: r => [|k r [i hi]]; first by exists o.
  case: (Rle_dec (f i) (f k)) => [le|gt].
    by exists k => j; rewrite in_cons => /orP [/eqP ->|/hi]; lra.
  by exists i => j; rewrite in_cons => /orP [/eqP ->|/hi]; lra.
by case: (h (enum I)) => i hi; exists i => j; apply: hi; rewrite mem_enum.
Qed.
End Sums.

Lemma sum_exchange (I J : finType) (f : I -> J -> R) : \sum_i \sum_j f i j = \sum_j \sum_i f i j.
Proof. exact: exchange_big. Qed.

(* Laws on finitely many atoms, their means and variances. *)
Section Laws.
Variable I : finType.
Implicit Types (p : I -> R) (f g : I -> R).

Definition law p := (forall i, 0 <= p i) /\ \sum_i p i = 1.
Definition mean p f := \sum_i (p i * f i).
Definition variance p f := mean p (fun i => (f i - mean p f) ^ 2).

Lemma meanD p f g : mean p (fun i => f i + g i) = mean p f + mean p g.
Proof. by rewrite /mean -sumD; apply: sum_ext => i; ring. Qed.

Lemma meanZ p c f : mean p (fun i => c * f i) = c * mean p f.
Proof. by rewrite /mean -sumZ; apply: sum_ext => i; ring. Qed.

Lemma mean_const p c : law p -> mean p (fun=> c) = c.
Proof. by case=> _ h; rewrite /mean sumZr h; ring. Qed.

Lemma mean_le p f g : law p -> (forall i, f i <= g i) -> mean p f <= mean p g.
Proof. by case=> h _ hfg; apply: sum_le => i; have := h i; have := hfg i; nra. Qed.

Lemma mean_ext p f g : (forall i, f i = g i) -> mean p f = mean p g.
Proof. by move=> h; apply: sum_ext => i; rewrite h. Qed.

Lemma law_inhabited p : law p -> inhabited I.
Proof.
case=> _ h; case: (pickP (fun _ : I => true)) => [i _|none]; first by constructor.
by move: h; rewrite big1 => [|i _]; [lra | by have := none i].
Qed.

(* For every c: the second moment about c is the variance plus (mean - c)^2. *)
Lemma second_moment p f c : law p -> mean p (fun i => (f i - c) ^ 2) = variance p f + (mean p f - c) ^ 2.
Proof.
move=> hp; rewrite /variance; set m := mean p f.
have -> : mean p (fun i => (f i - c) ^ 2) = mean p (fun i => (f i - m) ^ 2 + (2 * (m - c) * f i + (c ^ 2 - m ^ 2))).
  by apply: mean_ext => i; ring.
by rewrite meanD meanD meanZ (mean_const _ hp) -/m; ring.
Qed.

Lemma variance_ge0 p f : law p -> 0 <= variance p f.
Proof. by case=> h _; apply: sum_ge0 => i; apply: Rmult_le_pos => //; apply: pow2_ge_0. Qed.

Lemma variance_raw p f : law p -> variance p f = mean p (fun i => f i ^ 2) - mean p f ^ 2.
Proof.
move=> hp; have := second_moment f 0 hp.
rewrite (@mean_ext p (fun i => (f i - 0) ^ 2) (fun i => f i ^ 2)); [lra | by move=> i; ring].
Qed.

(* Popoviciu: a variable with values in [l, u] has variance at most (u - l)^2 / 4. *)
Lemma popoviciu p f l u : law p -> (forall i, l <= f i <= u) -> variance p f <= (u - l) ^ 2 / 4.
Proof.
move=> hp hf; have := second_moment f ((l + u) / 2) hp.
have : mean p (fun i => (f i - (l + u) / 2) ^ 2) <= (u - l) ^ 2 / 4.
  rewrite -[X in _ <= X](mean_const _ hp); apply: mean_le => // i; have := hf i; nra.
by have := pow2_ge_0 (mean p f - (l + u) / 2); lra.
Qed.
End Laws.
