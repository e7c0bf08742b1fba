(* Vectors with finitely many coordinates, the scalar product and the Euclidean norm. No claim of the suite.

   Reader's checklist: [norm u] is the root of [dot u u]; a vector is a function on a finite type, so that every
   dimension is meant, also none. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Euclid.
Variable K : finType.
Implicit Types u v w : K -> R.

Definition dot u v := \sum_k (u k * v k).
Definition norm u := sqrt (dot u u).

Lemma dotC u v : dot u v = dot v u. Proof. by apply: sum_ext => k; ring. Qed.
Lemma dot_ext u u' v v' : (forall k, u k = u' k) -> (forall k, v k = v' k) -> dot u v = dot u' v'.
Proof. by move=> h h'; apply: sum_ext => k; rewrite h h'. Qed.
Lemma dotDl u v w : dot (fun k => u k + v k) w = dot u w + dot v w.
Proof. by rewrite -sumD; apply: sum_ext => k; ring. Qed.
Lemma dotBl u v w : dot (fun k => u k - v k) w = dot u w - dot v w.
Proof. by rewrite -sumB; apply: sum_ext => k; ring. Qed.
Lemma dotZl c v w : dot (fun k => c * v k) w = c * dot v w.
Proof. by rewrite -sumZ; apply: sum_ext => k; ring. Qed.
Lemma dotBr u v w : dot w (fun k => u k - v k) = dot w u - dot w v.
Proof. by rewrite !(dotC w) dotBl. Qed.
Lemma dot_ge0 u : 0 <= dot u u. Proof. by apply: sum_ge0 => k; nra. Qed.

(* The scalar product with a mean of vectors. *)
Lemma dot_mean (I : finType) (p : I -> R) (x : I -> K -> R) w :
  dot (fun k => mean p (fun i => x i k)) w = mean p (fun i => dot (x i) w).
Proof.
rewrite /dot /mean.
have -> : \sum_k ((\sum_i (p i * x i k)) * w k) = \sum_k \sum_i (p i * (x i k * w k)).
  by apply: sum_ext => k; rewrite -sumZr; apply: sum_ext => i; ring.
by rewrite sum_exchange; apply: sum_ext => i; rewrite sumZ.
Qed.

Lemma norm_ge0 u : 0 <= norm u. Proof. exact: sqrt_pos. Qed.
Lemma norm_sq u : norm u * norm u = dot u u. Proof. exact: sqrt_sqrt (dot_ge0 u). Qed.
Lemma norm_ext u v : (forall k, u k = v k) -> norm u = norm v.
Proof. by move=> h; rewrite /norm (dot_ext h h). Qed.

(* Cauchy and Schwarz. *)
Lemma cauchy_schwarz u v : dot u v <= norm u * norm v.
Proof.
have quad s t : 0 <= s * s * dot u u - 2 * (s * t) * dot u v + t * t * dot v v.
  have -> : s * s * dot u u - 2 * (s * t) * dot u v + t * t * dot v v =
    dot (fun k => s * u k - t * v k) (fun k => s * u k - t * v k).
    by rewrite /dot -!sumZ -sumB -sumD; apply: sum_ext => k; ring.
  exact: dot_ge0.
apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos; apply: norm_ge0.
have -> : Rsqr (norm u * norm v) = dot u u * dot v v by rewrite /Rsqr -!norm_sq; ring.
rewrite /Rsqr; case: (dot_ge0 v) => [hv|v0].
  by have := quad (dot v v) (dot u v) => h; apply: (Rmult_le_reg_l (dot v v)) => //; nra.
rewrite -v0 Rmult_0_r; case: (Req_dec (dot u v) 0) => [->|ne]; first by lra.
have := quad 1 ((dot u u + 1) / (2 * dot u v)); rewrite -v0.
have -> : 2 * (1 * ((dot u u + 1) / (2 * dot u v))) * dot u v = dot u u + 1 by field.
by lra.
Qed.

Lemma norm_triangle u v : norm (fun k => u k + v k) <= norm u + norm v.
Proof.
apply: Rsqr_incr_0; rewrite /Rsqr; [|exact: norm_ge0|by have := norm_ge0 u; have := norm_ge0 v; lra].
rewrite norm_sq dotDl !(dotC _ (fun k => _ + _)) !dotDl (dotC v u); have := cauchy_schwarz u v.
by rewrite -!norm_sq; lra.
Qed.

(* A bound of all scalar products is one of the norm. *)
Lemma norm_le u c : 0 <= c -> dot u u <= c * norm u -> norm u <= c.
Proof.
move=> hc; rewrite -norm_sq; case: (norm_ge0 u) => [h k|<-] //.
by apply: (Rmult_le_reg_r (norm u)).
Qed.
End Euclid.
