(* Attention as a Markov kernel, with the hypothesis that the source omits.

   Laws of values are written as what they do to test functions. The lookup as printed, L(k) f = sum_i 1{k_i = k}
   f(v_i), has total mass #{i : k_i = k}: it is a Markov kernel on the keys iff they are distinct. Its average over
   equal keys always is one, and composed with the law of the matched key it is attention. Reader's checklist: queries
   come in through a function of the key alone, so that equal keys have equal weights. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Softmax.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Lookup.
Variables (I : finType) (Key : eqType) (Value : Type) (key : I -> Key) (value : I -> Value).
Implicit Types (f : Value -> R) (k : Key) (p : I -> R).

Definition same i k := if key i == k then 1 else 0.
Definition printed k f := \sum_i (same i k * f (value i)).
Definition multiplicity k := \sum_i same i k.
Definition averaged k f := printed k f / multiplicity k.

Lemma multiplicity_ge1 i : 1 <= multiplicity (key i).
Proof.
have <- : same i (key i) = 1 by rewrite /same eqxx.
by apply: sum_term => j; rewrite /same; case: eqP => _; lra.
Qed.

Lemma printed_mass k : printed k (fun=> 1) = multiplicity k.
Proof. by apply: sum_ext => i; ring. Qed.

(* As printed it is a Markov kernel iff no key is repeated.
   Part of: markov.equivalence. *)
Theorem printed_markov : (forall i, printed (key i) (fun=> 1) = 1) <-> injective key.
Proof.
split=> [h i j e|h i]; last first.
  rewrite printed_mass /multiplicity (bigD1 i) //= {1}/same eqxx big1 => [|j /negP ne]; first by ring.
  by rewrite /same; case: eqP => // /h e; case: ne; rewrite e.
apply/eqP; apply/negPn/negP => ne; have := h i.
rewrite printed_mass /multiplicity (bigD1 i) //= (bigD1 j) /=; last by rewrite eq_sym.
rewrite /same eqxx e eqxx.
suff : 0 <= \big[Rplus/0]_(l | (l != i) && (l != j)) (if key l == key j then 1 else 0) by lra.
by elim/big_ind: _ => [|x y|l _]; [lra | lra | case: eqP => _; lra].
Qed.

Lemma averaged_markov i : averaged (key i) (fun=> 1) = 1.
Proof. by rewrite /averaged printed_mass; field; have := multiplicity_ge1 i; lra. Qed.

(* Weights that depend on the key alone: softmax of the scores of a query does. *)
Lemma averaged_is_attention p f : (forall i j, key i = key j -> p i = p j) ->
  \sum_i (p i * averaged (key i) f) = \sum_i (p i * f (value i)).
Proof.
move=> hp.
have -> : \sum_i (p i * averaged (key i) f) = \sum_i \sum_j (p i / multiplicity (key i) * same j (key i) * f (value j)).
  apply: sum_ext => i; have -> : p i * averaged (key i) f = p i / multiplicity (key i) * printed (key i) f.
    by rewrite /averaged /Rdiv; ring.
  by rewrite -sumZ; apply: sum_ext => j; ring.
rewrite sum_exchange; apply: sum_ext => j.
have -> : p j * f (value j) = p j / multiplicity (key j) * f (value j) * multiplicity (key j).
  by field; have := multiplicity_ge1 j; lra.
rewrite [X in _ = _ * X]/multiplicity -sumZ; apply: sum_ext => i; rewrite /same.
by rewrite (eq_sym (key j)); case: eqP => [e|_]; [rewrite e (hp _ _ e); ring | ring].
Qed.

(* Attention of a query whose score of a key is a(k).
   Part of: markov.equivalence. *)
Theorem markov_kernel_attention (a : Key -> R) f : let p := softmax (fun i => a (key i)) in
  \sum_i (p i * averaged (key i) f) = \sum_i (p i * f (value i)).
Proof. by apply: averaged_is_attention => i j e; rewrite /softmax e. Qed.
End Lookup.

(* Twin: as printed it is no kernel where two tokens share a key.
   Twin of: printed_markov. *)
Theorem not_printed_always : ~ forall (I : finType) (Key : eqType) (key : I -> Key) (value : I -> R) i,
  printed key value (key i) (fun=> 1) = 1.
Proof.
move=> h; have := h [finType of bool] [finType of unit] (fun=> tt) (fun=> 0) true.
by rewrite /printed /same big_bool /= => e; lra.
Qed.

(* Twin: the printed lookup is not attention; two tokens of one key and the value one.
   Twin of: markov_kernel_attention. *)
Theorem not_printed_attention : ~ forall (I : finType) (Key : eqType) (key : I -> Key) (value : I -> R) (a : Key -> R),
  let p := softmax (fun i => a (key i)) in
  \sum_i (p i * printed key value (key i) (fun v => v)) = \sum_i (p i * value i).
Proof.
move=> h; have := h [finType of bool] [finType of unit] (fun=> tt) (fun=> 1) (fun=> 0).
by rewrite /printed /same /softmax /normaliser !big_bool /= exp_0; lra.
Qed.
