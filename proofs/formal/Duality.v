(* Strong duality of finite transport, by the lemma of Farkas: the least cost is attained by a coupling, and by
   potentials, so that the certificate of [Transport] is complete. For a distance the potentials are one function of
   slope one.

   Reader's checklist: [W1], [coupling], [feasible] and [dual] are those of [Transport]; costs are any real numbers;
   couplings are of indices; measures that are not finite sums are not here. [farkas] is proved by elimination of one
   unknown after another. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq fintype bigop.
From Coq Require Import Reals Lra Psatz FunctionalExtensionality Classical.
From Attention Require Import Finite Euclid Tilt Transport Transform.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Elimination.
Variable K : finType.
Implicit Types (S : list ((K -> R) * R)) (c d : (K -> R) * R) (x : K -> R) (k : K).

(* Inequalities <a, x> <= b that follow by adding and by multiplying with numbers that are not negative. *)
Inductive derived S : (K -> R) -> R -> Prop :=
| derived_in c : List.In c S -> derived S c.1 c.2
| derived_add a b a' b' : derived S a b -> derived S a' b' -> derived S (fun k => a k + a' k) (b + b')
| derived_scale t a b : 0 <= t -> derived S a b -> derived S (fun k => t * a k) (t * b).

Definition combine k c d := ((fun l => - d.1 k * c.1 l + c.1 k * d.1 l), - d.1 k * c.2 + c.1 k * d.2).
Definition pairs k S := List.flat_map (fun c => List.flat_map (fun d =>
  if Rlt_dec 0 (c.1 k) then if Rlt_dec (d.1 k) 0 then [:: combine k c d] else [::] else [::]) S) S.
Definition flat k S := List.filter (fun c => if Req_EM_T (c.1 k) 0 then true else false) S.

Definition eliminated k S := List.app (flat k S) (pairs k S).

Lemma in_eliminated k S e : List.In e (eliminated k S) ->
  (List.In e S /\ e.1 k = 0) \/
  exists c d, List.In c S /\ List.In d S /\ 0 < c.1 k /\ d.1 k < 0 /\ e = combine k c d.
Proof.
move=> he; case: (List.in_app_or _ _ _ he) => [/List.filter_In [h]|]; first by case: Req_EM_T => // z _; left.
move/List.in_flat_map => [c [hc]] /List.in_flat_map [d [hd]].
case: (Rlt_dec 0 (c.1 k)) => [pc|//]; case: (Rlt_dec (d.1 k) 0) => [pd|//] [<-|//].
by right; exists c, d.
Qed.

Lemma combine_in k S c d : List.In c S -> List.In d S -> 0 < c.1 k -> d.1 k < 0 ->
  List.In (combine k c d) (eliminated k S).
Proof.
move=> hc hd pc pd; apply: List.in_or_app; right; apply/List.in_flat_map; exists c; split=> //.
apply/List.in_flat_map; exists d; split=> //.
by case: (Rlt_dec 0 (c.1 k)) => [?|//]; case: (Rlt_dec (d.1 k) 0) => [?|//]; left.
Qed.

Lemma derived_eliminated k S a b : derived (eliminated k S) a b -> derived S a b.
Proof.
elim=> [e|a1 b1 a2 b2 _ h1 _ h2|t a1 b1 t0 _ h]; [|exact: derived_add|exact: derived_scale].
case/in_eliminated => [[h _]|[c [d [hc [hd [pc [pd ->]]]]]]]; first exact: derived_in.
by apply: derived_add; apply: derived_scale; try exact: derived_in; lra.
Qed.

(* A number between bounds from below and from above. *)
Lemma between k (lo : (K -> R) * R -> R) S : (forall c d, List.In c S -> List.In d S -> 0 < c.1 k -> d.1 k < 0 ->
    lo d <= lo c) ->
  exists t, forall c, List.In c S -> (0 < c.1 k -> t <= lo c) /\ (c.1 k < 0 -> lo c <= t).
Proof.
elim: S => [|c S ih] h; first by exists 0.
case: ih => [e d he hd|t ht]; first by apply: h; right.
case: (Rlt_dec 0 (c.1 k)) => pc; last case: (Rlt_dec (c.1 k) 0) => nc.
- exists (Rmin t (lo c)) => e [<-|he]; split=> pe; try lra; first exact: Rmin_r.
    by apply: Rle_trans (Rmin_l _ _) _; apply: (proj1 (ht e he)).
  by apply: Rmin_glb; [apply: (proj2 (ht e he)) | apply: h => //; [left | right]].
- exists (Rmax t (lo c)) => e [<-|he]; split=> pe; try lra; first exact: Rmax_r.
    by apply: Rmax_lub; [apply: (proj1 (ht e he)) | apply: h => //; [right | left]].
  by apply: Rle_trans (Rmax_l _ _); apply: (proj2 (ht e he)).
by exists t => e [<-|he]; [split; lra | apply: ht].
Qed.

Lemma dot_at (a x : K -> R) k t :
  dot a (fun l => if l == k then t else x l) = dot a (fun l => if l == k then 0 else x l) + a k * t.
Proof.
have -> : a k * t = \sum_l (if l == k then a l * t else 0) by rewrite -big_mkcond big_pred1_eq.
by rewrite /dot -sumD; apply: sum_ext => l; case: (l == k); ring.
Qed.

(* One unknown less. *)
Lemma eliminate k S x : (forall e, List.In e (eliminated k S) -> dot e.1 x <= e.2) ->
  exists x', forall c, List.In c S -> dot c.1 x' <= c.2.
Proof.
move=> h; pose r c := dot c.1 (fun l => if l == k then 0 else x l); pose lo c := (c.2 - r c) / c.1 k.
have rest c t : dot c.1 (fun l => if l == k then t else x l) = r c + c.1 k * t by apply: dot_at.
have same c : dot c.1 x = r c + c.1 k * x k.
  by rewrite -rest; apply: dot_ext => // l; case: eqP => [->|].
case: (@between k lo S) => [c d hc hd pc pd|t ht].
  have := h _ (combine_in hc hd pc pd); rewrite /combine /= => le.
  have e : dot (fun l => - d.1 k * c.1 l + c.1 k * d.1 l) x = - d.1 k * r c + c.1 k * r d.
    rewrite dotDl !dotZl !same; ring.
  rewrite e in le; have p : 0 < c.1 k * - d.1 k by apply: Rmult_lt_0_compat; lra.
  apply: (Rmult_le_reg_l _ _ _ p).
  have -> : c.1 k * - d.1 k * lo d = - c.1 k * (d.2 - r d) by rewrite /lo; field; lra.
  have -> : c.1 k * - d.1 k * lo c = - d.1 k * (c.2 - r c) by rewrite /lo; field; lra.
  by lra.
exists (fun l => if l == k then t else x l) => c hc; rewrite rest; have [up low] := ht c hc.
case: (Rtotal_order (c.1 k) 0) => [n|[z|p]].
- have := Rmult_le_compat_l (- c.1 k) _ _ ltac:(lra) (low n).
  by have -> : - c.1 k * lo c = - (c.2 - r c) by [rewrite /lo; field; lra]; lra.
- have : List.In c (eliminated k S).
    by apply: List.in_or_app; left; apply/List.filter_In; split=> //; case: Req_EM_T.
  by move/h; rewrite same z; lra.
have := Rmult_le_compat_l (c.1 k) _ _ ltac:(lra) (up ltac:(lra)).
by have -> : c.1 k * lo c = c.2 - r c by [rewrite /lo; field; lra]; lra.
Qed.

Lemma solve_or_derive (r : seq K) S : (forall c, List.In c S -> forall l, l \notin r -> c.1 l = 0) ->
  (exists x, forall c, List.In c S -> dot c.1 x <= c.2) \/ exists b, b < 0 /\ derived S (fun=> 0) b.
Proof.
elim: r S => [|k r ih] S h.
  case: (classic (exists c, List.In c S /\ c.2 < 0)) => [[c [hc neg]]|none].
    right; exists c.2; split=> //; have <- : c.1 = fun=> 0 by apply: functional_extensionality => l; apply: h.
    exact: derived_in.
  left; exists (fun=> 0) => c hc; rewrite /dot big1 => [|l _]; last by ring.
  by apply: Rnot_lt_le => neg; case: none; exists c.
case: (ih (eliminated k S)) => [e he l nl|[x hx]|[b [neg hb]]].
- case/in_eliminated: he => [[hc z]|[c [d [hc [hd [_ [_ ->]]]]]]].
    by case: (eqVneq l k) => [->//|ne]; apply: h => //; rewrite in_cons negb_or ne.
  rewrite /=; case: (eqVneq l k) => [->|ne]; first by ring.
  have out : l \notin k :: r by rewrite in_cons negb_or ne.
  by rewrite (h c hc l out) (h d hd l out); ring.
- by left; apply: eliminate hx.
by right; exists b; split=> //; apply: derived_eliminated hb.
Qed.
End Elimination.

(* Farkas: inequalities <A_c, x> <= b_c have a solution, or a combination of them says 0 < 0. *)
Theorem farkas (C K : finType) (A : C -> K -> R) (b : C -> R) :
  (exists x, forall c, dot (A c) x <= b c) \/
  (exists y, (forall c, 0 <= y c) /\ (forall k, \sum_c (y c * A c k) = 0) /\ \sum_c (y c * b c) < 0).
Proof.
pose S := List.map (fun c => (A c, b c)) (enum C).
have all_in c : List.In (A c, b c) S.
  apply: List.in_map; have : c \in enum C by rewrite mem_enum.
  elim: (enum C) => [|d r ih] //; rewrite in_cons => /orP [/eqP ->|/ih]; by [left | right].
case: (@solve_or_derive K (enum K) S) => [c _ l|[x hx]|[z [neg hz]]].
- by rewrite mem_enum.
- by left; exists x => c; have := hx _ (all_in c).
have gen a s : derived S a s ->
    exists y, (forall c, 0 <= y c) /\ (forall k, \sum_c (y c * A c k) = a k) /\ \sum_c (y c * b c) = s.
  elim=> [e|a1 b1 a2 b2 _ [y [y0 [ya yb]]] _ [y' [y0' [ya' yb']]]|t a1 b1 t0 _ [y [y0 [ya yb]]]].
  - case/List.in_map_iff => c [<- _] /=; exists (fun d => if d == c then 1 else 0).
    have one (f : C -> R) : \sum_d ((if d == c then 1 else 0) * f d) = f c.
      have -> : \sum_d ((if d == c then 1 else 0) * f d) = \sum_d (if d == c then f d else 0).
        by apply: sum_ext => d; case: (d == c); ring.
      by rewrite -big_mkcond big_pred1_eq.
    split=> [d|]; first by rewrite /=; case: eqP => _; lra.
    by split=> [k|]; [apply: (one (fun c => A c k)) | apply: one].
  - exists (fun c => y c + y' c); split=> [c|]; first by have := y0 c; have := y0' c; lra.
    split=> [k|]; last by rewrite -yb -yb' -sumD; apply: sum_ext => c; ring.
    by rewrite -ya -ya' -sumD; apply: sum_ext => c; ring.
  exists (fun c => t * y c); split=> [c|]; first exact: Rmult_le_pos.
  split=> [k|]; last by rewrite -yb -sumZ; apply: sum_ext => c; ring.
  by rewrite -ya -sumZ; apply: sum_ext => c; ring.
by right; case: (gen _ _ hz) => y [y0 [ya yb]]; exists y; rewrite yb.
Qed.

Lemma sum_sum (I J : finType) (f : I + J -> R) : \sum_k f k = \sum_i f (inl i) + \sum_j f (inr j).
Proof. exact: big_sumType. Qed.

Lemma sum_one (f : unit -> R) : \sum_k f k = f tt.
Proof. by rewrite (big_pred1 tt) //; case. Qed.

Lemma sum_at (I : finType) (f : I -> R) i : \sum_j (if j == i then f j else 0) = f i.
Proof. by rewrite -big_mkcond big_pred1_eq. Qed.

Lemma sum_pairs (I J : finType) (f : I * J -> R) : \sum_k f k = \sum_i \sum_j f (i, j).
Proof. by rewrite pair_bigA; apply: sum_ext => -[]. Qed.

Section Duality.
Variables I J : finType.
Implicit Types (a u : I -> R) (b v : J -> R) (C g : I -> J -> R) (w : R).

(* Potentials that attain a number below the cost of every coupling. *)
Lemma potentials C a b w : law a -> law b -> (forall g, coupling a b g -> w <= cost C g) ->
  exists u v, feasible C u v /\ w <= dual a b u v.
Proof.
move=> ha hb lower.
pose A (c : unit + I * J) (k : I + J) := match c, k with
  | inl _, inl i => - a i | inl _, inr j => - b j
  | inr ij, inl i => if i == ij.1 then 1 else 0 | inr ij, inr j => if j == ij.2 then 1 else 0 end.
pose r (c : unit + I * J) := if c is inr ij then C ij.1 ij.2 else - w.
case: (farkas A r) => [[x hx]|[y [y0 [ya yb]]]].
  exists (fun i => x (inl i)), (fun j => x (inr j)); split=> [i j|].
    have := hx (inr (i, j)); rewrite /dot sum_sum /=.
    have -> : \sum_k ((if k == i then 1 else 0) * x (inl k)) = x (inl i).
      by rewrite -(sum_at (fun k => x (inl k))); apply: sum_ext => k; case: (k == i); ring.
    have -> // : \sum_k ((if k == j then 1 else 0) * x (inr k)) = x (inr j).
    by rewrite -(sum_at (fun k => x (inr k))); apply: sum_ext => k; case: (k == j); ring.
  have := hx (inl tt); rewrite /dot sum_sum /= /dual /mean.
  have neg (L : finType) (f h : L -> R) : \sum_l (- f l * h l) = - \sum_l (f l * h l).
    by have -> : - (\sum_l (f l * h l)) = -1 * (\sum_l (f l * h l)) by [ring]; rewrite -sumZ; apply: sum_ext => l; ring.
  by rewrite !neg; lra.
exfalso; pose m := y (inl tt); pose g i j := y (inr (i, j)).
have rows i : \sum_j g i j = m * a i.
  have := ya (inl i); rewrite sum_sum sum_one sum_pairs /=.
  have -> : \sum_k \sum_j (y (inr (k, j)) * (if i == k then 1 else 0)) = \sum_j g i j.
    rewrite -(sum_at (fun k => \sum_j g k j)); apply: sum_ext => k; rewrite (eq_sym k).
    by case: (i == k); [apply: sum_ext => j; rewrite /g; ring | rewrite big1 // => j _; ring].
  by rewrite -/m; lra.
have columns j : \sum_i g i j = m * b j.
  have := ya (inr j); rewrite sum_sum sum_one sum_pairs /=.
  have -> : \sum_i \sum_k (y (inr (i, k)) * (if j == k then 1 else 0)) = \sum_i g i j.
    apply: sum_ext => i; rewrite -(sum_at (fun k => g i k)); apply: sum_ext => k; rewrite (eq_sym k) /g.
    by case: (j == k); ring.
  by rewrite -/m; lra.
move: yb; rewrite sum_sum sum_one sum_pairs /= -/m => neg.
have {}neg : m * - w + cost C g < 0 := neg.
have m0 : 0 <= m := y0 _; case: m0 => [m0|m0].
  have i0 := Rinv_0_lt_compat _ m0; have hc : coupling a b (fun i j => / m * g i j).
    split=> [i j|]; first by apply: Rmult_le_pos; [lra | apply: y0].
    by split=> [i|j]; rewrite sumZ ?rows ?columns; field; lra.
  have e : cost C (fun i j => / m * g i j) = / m * cost C g.
    by rewrite /cost -sumZ; apply: sum_ext => i; rewrite -sumZ; apply: sum_ext => j; ring.
  have := lower _ hc; rewrite e => le; have := Rmult_le_compat_l m _ _ (Rlt_le _ _ m0) le.
  by rewrite -Rmult_assoc Rinv_r; lra.
have z i j : g i j = 0.
  have := rows i; rewrite -m0 Rmult_0_l => s; apply: (sum_eq0 (f := g i)) => // k; exact: y0.
move: neg; rewrite /cost -m0 big1; first by lra.
by move=> i _; rewrite big1 // => j _; rewrite z; ring.
Qed.

(* A coupling as cheap as a number that no feasible pair exceeds. *)
Lemma plan C a b w : law a -> law b -> (forall u v, feasible C u v -> dual a b u v <= w) ->
  exists g, coupling a b g /\ cost C g <= w.
Proof.
move=> ha hb upper.
pose A (c : (unit + I * J) + ((I + J) * bool)) (k : I * J) := match c with
  | inl (inl _) => C k.1 k.2 | inl (inr ij) => if k == ij then -1 else 0
  | inr (inl i, s) => if k.1 == i then if s then 1 else -1 else 0
  | inr (inr j, s) => if k.2 == j then if s then 1 else -1 else 0 end.
pose r (c : (unit + I * J) + ((I + J) * bool)) := match c with
  | inl (inl _) => w | inl (inr ij) => 0
  | inr (inl i, s) => if s then a i else - a i | inr (inr j, s) => if s then b j else - b j end.
case: (farkas A r) => [[x hx]|[y [y0 [ya yb]]]].
  exists (fun i j => x (i, j)).
  have sum_row i s : dot (A (inr (inl i, s))) x = (if s then 1 else -1) * \sum_j x (i, j).
    rewrite /dot sum_pairs /= -sumZ -(sum_at (fun k => \sum_j ((if s then 1 else -1) * x (k, j)))); apply: sum_ext => k.
    by case: (k == i); [apply: sum_ext => j | rewrite big1 // => j _]; ring.
  have sum_column j s : dot (A (inr (inr j, s))) x = (if s then 1 else -1) * \sum_i x (i, j).
    rewrite /dot sum_pairs /= -sumZ; apply: sum_ext => i.
    rewrite -(sum_at (fun k => (if s then 1 else -1) * x (i, k))); apply: sum_ext => k.
    by case: (k == j); ring.
  split; last first.
    by have := hx (inl (inl tt)); rewrite /dot sum_pairs /cost /= => h; apply: Rle_trans h; right; apply: sum_ext => i;
      apply: sum_ext => j; ring.
  split=> [i j|]; last split=> [i|j].
  - have := hx (inl (inr (i, j))); rewrite /dot /=.
    have -> : \sum_k ((if k == (i, j) then -1 else 0) * x k) = \sum_k (if k == (i, j) then -1 * x k else 0).
      by apply: sum_ext => k; case: (k == (i, j)); ring.
    by rewrite (sum_at (fun k => -1 * x k)); lra.
  - by have := hx (inr (inl i, true)); have := hx (inr (inl i, false)); rewrite !sum_row /=; lra.
  by have := hx (inr (inr j, true)); have := hx (inr (inr j, false)); rewrite !sum_column /=; lra.
exfalso; pose m := y (inl (inl tt)).
pose u i := y (inr (inl i, false)) - y (inr (inl i, true)).
pose v j := y (inr (inr j, false)) - y (inr (inr j, true)).
have sum_signs (f : (I + J) * bool -> R) :
    \sum_k f k = \sum_i (f (inl i, true) + f (inl i, false)) + \sum_j (f (inr j, true) + f (inr j, false)).
  by rewrite sum_pairs sum_sum; congr (_ + _); apply: sum_ext => k; rewrite big_bool.
have hf i j : u i + v j <= m * C i j.
  have := ya (i, j); rewrite sum_sum sum_sum sum_one sum_signs /= -/m.
  have -> : \sum_k (y (inl (inr k)) * (if (i, j) == k then -1 else 0)) = - y (inl (inr (i, j))).
    rewrite -[RHS](sum_at (fun k => - y (inl (inr k)))); apply: sum_ext => k; rewrite (eq_sym k).
    by case: ((i, j) == k); ring.
  have -> : \sum_k (y (inr (inl k, true)) * (if i == k then 1 else 0) + y (inr (inl k, false)) *
      (if i == k then -1 else 0)) = - u i.
    rewrite -[RHS](sum_at (fun k => - u k)); apply: sum_ext => k; rewrite (eq_sym k) /u.
    by case: (i == k); ring.
  have -> : \sum_k (y (inr (inr k, true)) * (if j == k then 1 else 0) + y (inr (inr k, false)) *
      (if j == k then -1 else 0)) = - v j.
    rewrite -[RHS](sum_at (fun k => - v k)); apply: sum_ext => k; rewrite (eq_sym k) /v.
    by case: (j == k); ring.
  by have := y0 (inl (inr (i, j))); lra.
have neg : m * w < dual a b u v.
  move: yb; rewrite sum_sum sum_sum sum_one sum_signs /= -/m.
  have -> : \sum_k (y (inl (inr k)) * 0) = 0 by rewrite big1 // => k _; ring.
  have -> : \sum_i (y (inr (inl i, true)) * a i + y (inr (inl i, false)) * - a i) = - mean a u.
    have -> : - mean a u = -1 * mean a u by ring.
    by rewrite -meanZ; apply: sum_ext => i; rewrite /u; ring.
  have -> : \sum_j (y (inr (inr j, true)) * b j + y (inr (inr j, false)) * - b j) = - mean b v.
    have -> : - mean b v = -1 * mean b v by ring.
    by rewrite -meanZ; apply: sum_ext => j; rewrite /v; ring.
  by rewrite /dual; lra.
have m0 : 0 <= m := y0 _; case: m0 => [m0|m0].
  have : dual a b (fun i => / m * u i) (fun j => / m * v j) <= w.
    apply: upper => i j; have := Rmult_le_compat_l (/ m) _ _ (Rlt_le _ _ (Rinv_0_lt_compat _ m0)) (hf i j).
    by rewrite -Rmult_assoc Rinv_l; lra.
  rewrite /dual !meanZ => le; have := Rmult_le_compat_l m _ _ (Rlt_le _ _ m0) le.
  have -> : m * (/ m * mean a u + / m * mean b v) = dual a b u v by rewrite /dual; field; lra.
  by lra.
have zero : feasible (fun _ _ => 0) u v by move=> i j; have := hf i j; rewrite -m0; lra.
have := weak_duality (product_coupling ha hb) zero; rewrite -m0 in neg; rewrite /cost big1; first by lra.
by move=> i _; rewrite big1 // => j _; ring.
Qed.

(* Strong duality: the least cost is attained by a coupling, and by potentials.
   Part of: distance.stopped-early. *)
Theorem strong_duality C a b w : law a -> law b -> W1 C a b w ->
  (exists g, coupling a b g /\ cost C g = w) /\ (exists u v, feasible C u v /\ dual a b u v = w).
Proof.
move=> ha hb [lower greatest]; split.
  case: (@plan C a b w ha hb) => [u v huv|g [hg le]].
    by apply: greatest => g hg; apply: weak_duality.
  by exists g; split=> //; apply: Rle_antisym => //; apply: lower.
case: (potentials ha hb lower) => u [v [huv le]]; exists u, v; split=> //; apply: Rle_antisym => //.
by apply: greatest => g hg; apply: weak_duality.
Qed.

(* Hence a coupling is cheapest iff some feasible potentials meet the cost wherever it puts mass. *)
Theorem slackness C a b g : law a -> law b -> coupling a b g ->
  (W1 C a b (cost C g) <-> exists u v, feasible C u v /\ forall i j, g i j = 0 \/ u i + v j = C i j).
Proof.
move=> ha hb hg; split=> [h|[u [v [huv tight]]]].
  have [_ [u [v [huv e]]]] := strong_duality ha hb h; exists u, v; split=> // i j.
  have term k l : 0 <= g k l * (C k l - (u k + v l)).
    by apply: Rmult_le_pos; [apply: (proj1 hg) | have := huv k l; lra].
  have z : \sum_k \sum_l (g k l * (C k l - (u k + v l))) = 0.
    rewrite (dual_as_cost u v hg) in e; apply: (eq_trans (y := cost C g - cost (fun i j => u i + v j) g)); last by lra.
    by rewrite /cost -sumB; apply: sum_ext => k; rewrite -sumB; apply: sum_ext => l; ring.
  have row : forall k, \sum_l (g k l * (C k l - (u k + v l))) = 0.
    by apply: sum_eq0 => // k; apply: sum_ge0 => l; apply: term.
  have t0 : g i j * (C i j - (u i + v j)) = 0.
    by apply: (sum_eq0 (f := fun l => g i l * (C i l - (u i + v l)))).
  by case: (Rmult_integral _ _ t0); [left | right; lra].
have e : cost C g = dual a b u v.
  rewrite (dual_as_cost u v hg); apply: sum_ext => i; apply: sum_ext => j.
  by case: (tight i j) => [->|->]; ring.
by split=> [h hh|z hz]; [rewrite e; apply: weak_duality | apply: hz].
Qed.
End Duality.

(* The least of finitely many numbers. *)
Definition least (J : finType) (f : J -> R) (o : J) := foldr (fun j m => Rmin (f j) m) (f o) (enum J).

Lemma least_le (J : finType) (f : J -> R) o j : least f o <= f j.
Proof.
rewrite /least; have : j \in enum J by rewrite mem_enum.
elim: (enum J) => [|k r ih] //=; rewrite in_cons => /orP [/eqP ->|/ih h]; first exact: Rmin_l.
exact: Rle_trans (Rmin_r _ _) h.
Qed.

Lemma least_is (J : finType) (f : J -> R) o : exists j, least f o = f j.
Proof.
rewrite /least; elim: (enum J) => [|k r [j e]] /=; first by exists o.
by rewrite e /Rmin; case: Rle_dec => _; [exists k | exists j].
Qed.

(* Kantorovich and Rubinstein: for a distance some function of slope one attains W_1.
   Part of: distance.large. *)
Theorem kantorovich_rubinstein (I J : finType) (X : Type) (d : X -> X -> R) (x : I -> X) (y : J -> X) a b w :
  (forall s, d s s = 0) -> (forall r s t, d r t <= d r s + d s t) -> law a -> law b ->
  W1 (fun i j => d (x i) (y j)) a b w ->
  exists f, (forall s t, f s - f t <= d s t) /\ mean a (fun i => f (x i)) - mean b (fun j => f (y j)) = w.
Proof.
move=> d0 tri ha hb hw; case: (law_inhabited hb) => o.
have [_ [u [v [huv e]]]] := strong_duality ha hb hw.
pose f s := least (fun j => d s (y j) - v j) o.
have slope s t : f s - f t <= d s t.
  rewrite /f; case: (least_is (fun j => d t (y j) - v j) o) => j ->.
  by have := least_le (fun j => d s (y j) - v j) o j; have := tri s t (y j); lra.
exists f; split=> //; apply: Rle_antisym; first exact: slope_one slope hw.
have ue : mean a u <= mean a (fun i => f (x i)).
  apply: mean_le => // i; rewrite /f; case: (least_is (fun j => d (x i) (y j) - v j) o) => j ->.
  by have := huv i j; lra.
have ve : mean b (fun j => f (y j)) <= mean b (fun j => -1 * v j).
  by apply: mean_le => // j; have := least_le (fun k => d (y j) (y k) - v k) o j; rewrite -/(f (y j)) d0; lra.
by rewrite meanZ in ve; rewrite -e /dual; lra.
Qed.

(* The transform in W_1 itself, no longer as a supremum over functions.
   Part of: gibbs.transform. *)
Theorem transform_W1_cost (X : Type) (d : X -> X -> R) (pot : X -> R) D l o top (I J : finType) (x : I -> X)
  (y : J -> X) p q w z : (forall s, d s s = 0) -> (forall s t, d s t = d t s) ->
  (forall r s t, d r t <= d r s + d s t) ->
  (forall s t, 0 <= d s t <= D) -> 0 <= l -> (forall s t, Rabs (pot s - pot t) <= l * d s t) ->
  (forall s, top - o <= pot s <= top) -> law p -> law q -> W1 (fun i j => d (x i) (y j)) p q w ->
  W1 (fun i j => d (x i) (y j)) (tilt p (fun i => pot (x i))) (tilt q (fun j => pot (y j))) z ->
  z <= exp o * (1 + D * l) * w.
Proof.
move=> d0 sym tri hd l0 hl ho hp hq hw hz.
have [f [slope <-]] := kantorovich_rubinstein d0 tri (tilt_law hp _) (tilt_law hq _) hz.
by apply: (transform_W1 hd l0 hl ho) => // s t; apply: Rabs_le; have := slope s t; have := slope t s; rewrite sym; lra.
Qed.

(* Twin: independent atoms are not the cheapest coupling; two atoms, cost one off the diagonal.
   Twin of: strong_duality. *)
Theorem not_independent_cheapest : ~ forall (I J : finType) (C : I -> J -> R) a b, law a -> law b ->
  W1 C a b (cost C (fun i j => a i * b j)).
Proof.
move=> h; have half : law (fun _ : bool => / 2) by split=> [b|]; rewrite ?big_bool /=; lra.
have [lower _] := h [finType of bool] [finType of bool] (fun b c => if b == c then 0 else 1) _ _ half half.
have := lower (fun b c => if b == c then / 2 else 0).
rewrite /cost !big_bool /= => k; suff : coupling (fun _ : bool => / 2) (fun _ : bool => / 2)
  (fun b c => if b == c then / 2 else 0) by move/k; lra.
by split=> [b c|]; [case: (b == c); lra | split; case; rewrite big_bool /=; lra].
Qed.

(* Twin: a function of slope one half does not attain W_1; a unit of distance.
   Twin of: kantorovich_rubinstein. *)
Theorem not_slope_half : ~ forall (I J : finType) (x : I -> R) (y : J -> R) a b w, law a -> law b ->
  W1 (fun i j => Rabs (x i - y j)) a b w ->
  exists f, (forall s t, f s - f t <= / 2 * Rabs (s - t)) /\ mean a (fun i => f (x i)) - mean b (fun j => f (y j)) = w.
Proof.
have one : law (fun _ : unit => 1) by split=> [i|]; [lra | rewrite sum_one].
move=> h; have hw : W1 (fun _ _ : unit => Rabs (1 - 0)) (fun=> 1) (fun=> 1) 1.
  have e g : coupling (fun _ : unit => 1) (fun _ : unit => 1) g -> cost (fun _ _ : unit => Rabs (1 - 0)) g = 1.
    case=> _ [ga _]; have := ga tt; rewrite /cost !sum_one => ->; rewrite Rminus_0_r Rabs_R1; ring.
  split=> [g hg|z hz]; first by rewrite e //; lra.
  by have := hz _ (product_coupling one one); rewrite e //; apply: product_coupling.
have [f [slope e]] := h _ _ (fun=> 1) (fun=> 0) _ _ _ one one hw.
move: e; rewrite /mean !sum_one; have := slope 1 0; rewrite Rminus_0_r Rabs_R1; lra.
Qed.

(* Twin: the density alone, in W_1; [light_atom].
   Twin of: transform_W1_cost. *)
Theorem not_cost_without_slope : ~ forall (X : Type) (d : X -> X -> R) (pot : X -> R) D l o top (I J : finType)
    (x : I -> X) (y : J -> X) p q w z,
  (forall s, d s s = 0) -> (forall s t, d s t = d t s) -> (forall r s t, d r t <= d r s + d s t) ->
  (forall s t, 0 <= d s t <= D) -> 0 <= l -> (forall s t, Rabs (pot s - pot t) <= l * d s t) ->
  (forall s, top - o <= pot s <= top) -> law p -> law q -> W1 (fun i j => d (x i) (y j)) p q w ->
  W1 (fun i j => d (x i) (y j)) (tilt p (fun i => pot (x i))) (tilt q (fun j => pot (y j))) z -> z <= exp o * w.
Proof.
pose d s t := Rabs (place s - place t).
pose x (b : bool) := if b then None else Some true; pose y (b : bool) := if b then None else Some false.
have [hp [in_ _]] := light_atom 0; set p := fun b : bool => _ in hp.
have tp f : law (tilt p f) by apply: tilt_law.
case: (W1_exists (C := fun i j => d (x i) (y j)) hp hp) => [i j|w hw]; first exact: Rabs_pos.
case: (W1_exists (C := fun i j => d (x i) (y j)) (tp (fun i => place (x i))) (tp (fun j => place (y j)))) => [i j|z hz].
  exact: Rabs_pos.
have [_ [_ gap]] := light_atom w.
have g : exp 1 * w < mean (tilt p (fun i => place (x i))) (fun i => place (x i)) -
  mean (tilt p (fun j => place (y j))) (fun j => place (y j)) := gap hw.
have low := slope_one (f := place) (fun s t => Rle_abs (place s - place t)) hz.
move=> h; have := h _ d place 1 1 1 1 _ _ x y p p w z.
move=> /(_ (fun s => ltac:(rewrite /d Rminus_eq_0 Rabs_R0 //)) (fun s t => Rabs_minus_sym _ _)).
move=> /(_ (fun r s t => ltac:(rewrite /d; have := Rabs_triang (place r - place s) (place s - place t);
  have -> : place r - place s + (place s - place t) = place r - place t by [ring]; lra))).
move=> /(_ (fun s t => ltac:(split; [exact: Rabs_pos | have := in_ s; have := in_ t; move=> *; apply: Rabs_le; lra]))).
move=> /(_ ltac:(lra)) /(_ (fun s t => ltac:(rewrite Rmult_1_l; exact: Rle_refl))).
move=> /(_ (fun s => ltac:(have := in_ s; lra)) hp hp hw hz).
by lra.
Qed.
