(* Wendel's count: of the 2^n ways to turn n points in general position in d dimensions into their opposites, exactly
   2 sum_(k < d) C(n - 1, k) put them into one open hemisphere; so that points with random signs share one with that
   number over 2^n as probability (FR.F14).

   Reader's checklist: [sign_patterns x] counts the s for which all s_i x_i are in an open hemisphere, [wendel n d] is
   the number above; [general x] says that no combination of at most d points vanishes but the trivial one, where d is
   the number of coordinates: any d points are independent, and all where there are fewer; [holds P] is the truth value
   of P. In [hemisphere_probability] E is any expectation, of functions of clouds in a set M, which has the indicator
   [shared]; that independent points of a law that charges no hyperplane are in general position is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From Coq Require Import Reals Lra Psatz FunctionalExtensionality Classical.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset binomial.
From Attention Require Import Finite Euclid Duality Simplex Hemisphere.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Definition holds (P : Prop) : bool := if ClassicalDedekindReals.sig_not_dec P then true else false.
Lemma holdsP P : reflect P (holds P).
Proof. by rewrite /holds; case: (ClassicalDedekindReals.sig_not_dec P) => h; constructor; [apply: NNPP | ]. Qed.

(* The number, and Schlaefli's recursion for it. *)
Definition wendel (n d : nat) : nat := (2 * \big[addn/0%N]_(k < d) 'C(n.-1, k))%N.
Fixpoint regions (n d : nat) : nat :=
  match n, d with 0%N, _ => 1%N | S _, 0%N => 0%N | S n, S e => (regions n d + regions n e)%N end.

Lemma wendel_regions n d : wendel n.+1 d = regions n.+1 d.
Proof.
rewrite /wendel; elim: n d => [|n ih] [|d]; try by rewrite big_ord0.
  rewrite big_ord_recl big1 => [|i _]; first by case: d.
  by rewrite bin0n.
have -> : regions n.+2 d.+1 = (regions n.+1 d.+1 + regions n.+1 d)%N by [].
by rewrite -!ih -mulnDr big_ord_recl bin0 [in RHS]big_ord_recl bin0 -addnA -big_split.
Qed.

(* As many points as dimensions, or fewer: every pattern. *)
Lemma regions_all n d : (n <= d)%N -> regions n d = (2 ^ n)%N.
Proof. by elim: n d => [|n ih] [|d] //= h; rewrite !ih ?(ltnW h) // expnS mul2n addnn. Qed.

(* Dimensions that add up to n share the patterns. *)
Lemma regions_complement n d : (d <= n.+1)%N -> (regions n.+1 d + regions n.+1 (n.+1 - d) = 2 ^ n.+1)%N.
Proof.
elim: n d => [|n ih] [|d] h; try by rewrite subn0 [regions _ _.+1]regions_all.
  by case: d h.
move: h; rewrite subSS ltnS leq_eqVlt => /orP [/eqP ->|lt]; first by rewrite subnn addn0 regions_all.
have -> : regions n.+2 d.+1 = (regions n.+1 d.+1 + regions n.+1 d)%N by [].
have -> : regions n.+2 (n.+1 - d) = (regions n.+1 (n.+1 - d) + regions n.+1 (n - d))%N by rewrite subSn.
by rewrite [(regions n.+1 (n.+1 - d) + _)%N]addnC addnACA -[(n - d)%N]subSS ih // (ih d (ltnW lt)) addnn -mul2n -expnS.
Qed.

Lemma wendel_half d : (0 < d)%N -> (2 * wendel (2 * d) d = 2 ^ (2 * d))%N.
Proof.
case: d => // d _; have -> : (2 * d.+1 = (d + d.+1).+1)%N by rewrite mul2n -addnn.
have e : ((d + d.+1).+1 - d.+1 = d.+1)%N by rewrite -addSn addnK.
by have := @regions_complement (d + d.+1) d.+1; rewrite e addnn -mul2n wendel_regions -addSn leq_addl; apply.
Qed.

Lemma INR_power n : INR (2 ^ n)%N = 2 ^ n.
Proof. by elim: n => [|n ih] //; rewrite expnS mult_INR ih. Qed.

Definition probability (n d : nat) : R := INR (wendel n d) / 2 ^ n.

(* One for as many points as dimensions, or fewer, one half for twice as many, and the values that are printed.
   Part of: cone.wendel, cone.vacuous. *)
Theorem probability_values : (forall n d, (0 < n <= d)%N -> probability n d = 1) /\
  (forall d, (0 < d)%N -> probability (2 * d) d = 1 / 2) /\
  probability 6 3 = 1 / 2 /\ probability 10 4 = 130 / 512 /\ probability 5 5 = 1.
Proof.
have pos n : 2 ^ n <> 0 by apply: pow_nonzero; lra.
split=> [[|n] d //= h|]; first by rewrite /probability wendel_regions regions_all // INR_power; field.
split=> [d /wendel_half e|]; last by rewrite /probability !wendel_regions !INR_IZR_INZ /=; lra.
have : INR (2 * wendel (2 * d) d) = 2 ^ (2 * d) by rewrite e INR_power.
rewrite mult_INR /probability => k; rewrite -k (_ : INR 2 = 2) //; field => z.
by case: (pos (2 * d)%N); rewrite -k z; ring.
Qed.

Section Cells.
Variables I K : finType.
Implicit Types (x : I -> K -> R) (y t : I -> R) (w v : K -> R) (i j a : I) (k l : K) (A B C : seq I).
Implicit Types (s : {ffun I -> bool}) (S : {set {ffun I -> bool}}).

Definition sign (b : bool) : R := if b then 1 else -1.
Definition hemisphere x := exists w, forall i, 0 < dot (x i) w.
Definition flipped s x i k := sign (s i) * x i k.
Definition sign_patterns x := #|[set s : {ffun I -> bool} | holds (hemisphere (flipped s x))]|.

(* At most d points, where d is the number of coordinates, are independent. *)
Definition general x := forall (C : pred I) y, (#|C| <= #|K|)%N -> (forall i, ~~ C i -> y i = 0) ->
  (forall k, \sum_i (y i * x i k) = 0) -> forall i, y i = 0.

(* More points than coordinates are dependent. *)
Lemma dependent (L : seq K) C x : uniq C -> (size L < size C)%N ->
  exists y, (forall i, i \notin C -> y i = 0) /\ (exists i, y i <> 0) /\ forall k, k \in L -> \sum_i (y i * x i k) = 0.
Proof.
elim: L C x => [|k L ih] C x uC sz.
  case: C uC sz => // a C _ _; exists (fun i => if i == a then 1 else 0); split=> [i|].
    by rewrite in_cons negb_or => /andP [/negbTE -> _].
  by split=> //; exists a; rewrite eqxx; lra.
case: (classic (exists2 a, a \in C & x a k <> 0)) => [[a aC ne]|none]; last first.
  case: (ih C x uC (ltnW sz)) => y [off [ne z]]; exists y; do 2 split=> //.
  move=> l; rewrite in_cons => /orP [/eqP ->|/z //]; rewrite big1 // => i _.
  case: (boolP (i \in C)) => [iC|/off ->]; last by ring.
  by case: (Req_dec (x i k) 0) => [->|n0]; [ring | case: none; exists i].
pose q i := x i k / x a k.
case: (ih (rem a C) (fun i l => x i l - q i * x a l)) => [||y [off [[j yj] z]]]; first exact: rem_uniq.
  by rewrite size_rem //; case: (size C) sz.
pose c := \sum_i (y i * q i); exists (fun i => y i - (if i == a then c else 0)).
have total l : \sum_i ((y i - (if i == a then c else 0)) * x i l) = \sum_i (y i * (x i l - q i * x a l)).
  have -> : \sum_i (y i * (x i l - q i * x a l)) = \sum_i (y i * x i l) - c * x a l.
    by rewrite /c -sumZr -sumB; apply: sum_ext => i; ring.
  by rewrite -(sum_at (fun i => c * x i l) a) -sumB; apply: sum_ext => i; case: (i == a); ring.
split=> [i iC|]; last split=> [|l].
- have -> : y i = 0 by apply: off; apply: contra iC; apply: mem_rem.
  by case: eqP iC => [->|_ _]; [rewrite aC | ring].
- exists j; case: eqP => [e|_]; last by rewrite Rminus_0_r.
  by case: yj; apply: off; rewrite e mem_rem_uniq // inE eqxx.
rewrite total in_cons => /orP [/eqP ->|/z //]; rewrite big1 // => i _; rewrite /q; field; exact: ne.
Qed.

(* Independent points take any heights. *)
Lemma any_heights x C t : general x -> uniq C -> (size C <= #|K|)%N -> exists w, forall i, i \in C -> dot (x i) w = t i.
Proof.
move=> gen uC sz; pose z i (c : K + I) :=
  match c with inl k => if i \in C then x i k else 0 | inr j => if i \in C then 0 else if i == j then 1 else 0 end.
case: (@independent_share I [finType of K + I] z t) => [y e|w h].
  have off j : j \notin C -> y j = 0.
    move=> jC; rewrite -[LHS](sum_at y j) -[RHS](e (inr j)); apply: sum_ext => i /=.
    by case: eqP => [->|_]; [rewrite (negbTE jC) | case: (i \in C)]; ring.
  apply: (gen (mem C)) => // [|k]; first by rewrite (card_uniqP uC).
  by rewrite -[RHS](e (inl k)); apply: sum_ext => i /=; case: ifP => // /negbT /off ->; ring.
exists (fun k => w (inl k)) => i iC; rewrite -h /dot sum_sum /= iC.
by rewrite [X in _ = _ + X]big1 => [|j _]; ring.
Qed.

(* Orthogonal to d points is orthogonal to all. *)
Lemma orthogonal_all x B a w : general x -> uniq (a :: B) -> size B = #|K| ->
  (forall i, i \in B -> dot (x i) w = 0) -> dot (x a) w = 0.
Proof.
move=> gen uaB sz orth; case: (@dependent (enum K) (a :: B) x uaB) => [|y [off [[j yj] z]]].
  by rewrite -cardE /= sz.
have zero k : \sum_i (y i * x i k) = 0 by apply: z; rewrite mem_enum.
have : \sum_i (y i * dot (x i) w) = 0.
  by rewrite -[LHS](dot_mean y x w) /mean /dot big1 // => k _; rewrite zero; ring.
rewrite (bigD1 a) //= big1 => [|i ne].
  rewrite Rplus_0_r => /Rmult_integral [ya|//]; case: yj; apply: (gen (mem B)) => // [|i iB].
    by rewrite (card_uniqP (proj2 (andP uaB))) sz.
  by case: (altP (i =P a)) => [->|ne] //; apply: off; rewrite in_cons negb_or ne.
case: (boolP (i \in B)) => [/orth ->|iB]; first by ring.
by rewrite off ?in_cons ?negb_or ?ne //; ring.
Qed.

(* Some w is on the side that s says of the points of A, and on the planes of those of B. *)
Definition cell x A B s :=
  exists w, (forall i, i \in A -> 0 < sign (s i) * dot (x i) w) /\ (forall i, i \in B -> dot (x i) w = 0).
Definition flip a s : {ffun I -> bool} := [ffun i => (i == a) (+) s i].

Lemma flipK a : involutive (flip a).
Proof. by move=> s; apply/ffunP => i; rewrite !ffunE addbA addbb. Qed.
Lemma flip_at a s : sign (flip a s a) = - sign (s a).
Proof. by rewrite ffunE eqxx; case: (s a); rewrite /sign /=; ring. Qed.
Lemma flip_off a s i : i != a -> flip a s i = s i.
Proof. by move=> ne; rewrite ffunE (negbTE ne). Qed.
Lemma sign_sq b : sign b * sign b = 1.
Proof. by case: b; rewrite /sign; ring. Qed.

Lemma dot_line x i w v e : dot (x i) (fun k => w k + e * v k) = dot (x i) w + e * dot (x i) v.
Proof. by rewrite /dot -sumZ -sumD; apply: sum_ext => k; ring. Qed.

Lemma cell_flip x A B a s : a \notin A -> cell x A B s -> cell x A B (flip a s).
Proof.
move=> aA [w [hA hB]]; exists w; split=> // i iA; rewrite flip_off; first exact: hA.
by apply: contraNneq aA => <-.
Qed.

(* A step so small that what is positive stays so. *)
Lemma small A (f g : I -> R) : (forall i, i \in A -> 0 < f i) ->
  exists2 e, 0 < e & forall c, 0 < c <= e -> forall i, i \in A -> 0 < f i + c * g i.
Proof.
elim: A => [|a A ih] h; first by exists 1; [lra | ].
case: ih => [i iA|e e0 he]; first by apply: h; rewrite in_cons iA orbT.
have fa : 0 < f a by apply: h; rewrite in_cons eqxx.
have g0 := Rabs_pos (g a); have m0 : 0 < f a / (Rabs (g a) + 1) by apply: Rdiv_lt_0_compat; lra.
exists (Rmin e (f a / (Rabs (g a) + 1))) => [|c [c0 cm] i]; first exact: Rmin_pos.
rewrite in_cons => /orP [/eqP ->|]; last by apply: he; have := Rmin_l e (f a / (Rabs (g a) + 1)); lra.
have cf : c * (Rabs (g a) + 1) <= f a.
  have -> : f a = f a / (Rabs (g a) + 1) * (Rabs (g a) + 1) by field; lra.
  by apply: Rmult_le_compat_r; [lra | apply: Rle_trans cm (Rmin_r _ _)].
by have := Rmult_le_compat_l c _ _ (Rlt_le _ _ c0) (Rle_abs (- g a)); rewrite Rabs_Ropp; lra.
Qed.

(* A cell that meets the plane of a has both sides of it, *)
Lemma cell_both x A B a s : general x -> uniq (a :: B) -> (size B < #|K|)%N -> cell x A (a :: B) s ->
  cell x (a :: A) B s.
Proof.
move=> gen uaB sz [w [hA hB]].
case: (any_heights (fun i => if i == a then sign (s a) else 0) gen uaB sz) => v hv.
case: (small (fun i => sign (s i) * dot (x i) v) hA) => e e0 he; exists (fun k => w k + e * v k).
have aB := proj1 (andP uaB); split=> i; rewrite dot_line.
  rewrite in_cons => /orP [/eqP ->|iA]; last by have := he e (conj e0 (Rle_refl e)) i iA; lra.
  by rewrite hB ?hv ?in_cons ?eqxx //; have := sign_sq (s a); nra.
move=> iB; rewrite hB ?hv ?in_cons ?iB ?orbT //; case: eqP iB => [->|_ _]; last by ring.
by rewrite (negbTE aB).
Qed.

(* and one that has both sides meets the plane. *)
Lemma cell_meets x A B a s : a \notin A -> cell x (a :: A) B s -> cell x (a :: A) B (flip a s) -> cell x A (a :: B) s.
Proof.
move=> aA [w [hA hB]] [v [gA gB]]; have p : 0 < sign (s a) * dot (x a) w by apply: hA; rewrite in_cons eqxx.
have q : 0 < - (sign (s a) * dot (x a) v).
  by have := gA a; rewrite in_cons eqxx flip_at => /(_ isT); lra.
exists (fun k => w k + (- (dot (x a) w / dot (x a) v)) * v k).
have ne : dot (x a) v <> 0 by move=> z; move: q; rewrite z; lra.
have r : 0 < - (dot (x a) w / dot (x a) v).
  have -> : - (dot (x a) w / dot (x a) v) = sign (s a) * dot (x a) w / - (sign (s a) * dot (x a) v).
    have s0 : sign (s a) <> 0 by case: (s a); rewrite /sign; lra.
    by field.
  exact: Rdiv_lt_0_compat.
split=> i; rewrite dot_line; first move=> iA.
  have hi : 0 < sign (s i) * dot (x i) w by apply: hA; rewrite in_cons iA orbT.
  have gi : 0 < sign (s i) * dot (x i) v.
    rewrite -(flip_off (a := a)); last by apply: contraNneq aA => <-.
    by apply: gA; rewrite in_cons iA orbT.
  by have := Rmult_lt_0_compat _ _ r gi; lra.
by rewrite in_cons => /orP [/eqP ->|iB]; [field | rewrite (hB i iB) (gB i iB); ring].
Qed.

(* Of a cell one side of the plane of a is there. *)
Lemma cell_either x A B a s : general x -> a \notin A -> uniq (a :: B) -> (size B < #|K|)%N ->
  cell x A B s <-> cell x (a :: A) B s \/ cell x (a :: A) B (flip a s).
Proof.
move=> gen aA uaB sz; split; last first.
  have up (r : {ffun I -> bool}) : cell x (a :: A) B r -> cell x A B r.
    by move=> [w [hA hB]]; exists w; split=> // i iA; apply: hA; rewrite in_cons iA orbT.
  by move=> [/up //|/up /(cell_flip aA)]; rewrite flipK.
move=> [w [hA hB]]; case: (Rtotal_order (sign (s a) * dot (x a) w) 0) => [lt|[e|gt]].
- right; exists w; split=> // i; rewrite in_cons => /orP [/eqP ->|iA]; first by rewrite flip_at; lra.
  by rewrite flip_off; [exact: hA | apply: contraNneq aA => <-].
- left; apply: cell_both => //; exists w; split=> // i; rewrite in_cons => /orP [/eqP ->|/hB //].
  by have := sign_sq (s a); nra.
by left; exists w; split=> // i; rewrite in_cons => /orP [/eqP ->|/hA //].
Qed.

Definition cells x A B := [set s | holds (cell x A B s)].
Lemma cellsP x A B s : reflect (cell x A B s) (s \in cells x A B).
Proof. by rewrite inE; apply: holdsP. Qed.

(* Schlaefli: the plane of a splits the cells that it meets, and they are those of the other points in it. *)
Theorem cells_split x A B a : general x -> a \notin A -> uniq (a :: B) -> (size B < #|K|)%N ->
  (2 * #|cells x (a :: A) B| = #|cells x A B| + #|cells x A (a :: B)|)%N.
Proof.
move=> gen aA uaB sz; have fc : #|flip a @^-1: cells x (a :: A) B| = #|cells x (a :: A) B|.
  by rewrite -(can_imset_pre _ (flipK a)) card_imset //; apply: inv_inj (flipK a).
have pre s : (s \in flip a @^-1: cells x (a :: A) B) = (flip a s \in cells x (a :: A) B) by rewrite inE.
rewrite mul2n -addnn -{2}fc -cardsUI; congr (_ + _)%N; apply: eq_card => s.
  rewrite in_setU pre; apply/orP/cellsP => [h|/(cell_either s gen aA uaB sz) [] /cellsP h]; [|by left|by right].
  by apply/(cell_either s gen aA uaB sz); case: h => /cellsP h; [left | right].
rewrite in_setI pre; apply/andP/cellsP => [[/cellsP h /cellsP g]|h]; first exact: cell_meets h g.
by split; apply/cellsP; apply: cell_both => //; apply: cell_flip.
Qed.

Lemma cells_count x A B : general x -> uniq (A ++ B) -> (size B <= #|K|)%N ->
  (2 ^ size A * #|cells x A B| = 2 ^ #|I| * regions (size A) (#|K| - size B))%N.
Proof.
move=> gen; elim: A B => [|a A ih] B uAB sB.
  rewrite /= mul1n muln1 -card_bool -card_ffun -cardsT; apply: eq_card => s.
  rewrite in_setT; apply/cellsP; exists (fun=> 0); split=> // i _; rewrite /dot big1 // => k _; ring.
have aAB : a \notin A ++ B := proj1 (andP uAB); move: (aAB); rewrite mem_cat negb_or => /andP [aA aB].
have uB : uniq B by move: uAB; rewrite cat_uniq => /and3P [].
have uaB : uniq (a :: B) by rewrite /= aB.
move: sB; rewrite leq_eqVlt => /orP [/eqP sB|sB].
  rewrite sB subnn /= muln0; apply/eqP; rewrite muln_eq0 cards_eq0 orbC; apply/orP; left; apply/eqP/setP => s.
  rewrite in_set0; apply/cellsP => [[w [hA hB]]]; have := hA a; rewrite in_cons eqxx => /(_ isT).
  by rewrite (orthogonal_all gen uaB sB hB); lra.
rewrite -[size (a :: A)]/(size A).+1 expnSr -mulnA cells_split // mulnDr !ih ?subnS ?(ltnW sB) //; first last.
- exact: (proj2 (andP uAB)).
- by rewrite -cat1s uniq_catCA.
by rewrite -mulnDr -(prednK (n := #|K| - size B)) ?subn_gt0.
Qed.
End Cells.

(* The number of patterns of points in general position, whatever they are.
   Claim: cone.patterns. *)
Theorem patterns_count (I K : finType) (x : I -> K -> R) : (0 < #|I|)%N -> general x ->
  sign_patterns x = wendel #|I| #|K|.
Proof.
move=> n0 gen; have := @cells_count I K x (enum I) [::] gen.
rewrite cats0 enum_uniq subn0 -cardE -(prednK n0) wendel_regions (prednK n0) => /(_ isT isT) /eqP.
rewrite eqn_pmul2l ?expn_gt0 // => /eqP <-; apply: eq_card => s; rewrite inE.
apply/holdsP/cellsP => [[w h]|[w [h _]]]; exists w; first split=> // i _.
  by have := h i; rewrite /flipped dotZl.
by move=> i; rewrite /flipped dotZl; apply: h; rewrite mem_enum.
Qed.

Lemma sum_count (T : finType) (P : pred T) : \sum_i (if P i then 1 else 0) = INR #|[set i | P i]|.
Proof. by rewrite -big_mkcond cardsE /= big_const; elim: #|_| => [|n ih] //; rewrite S_INR /= ih; ring. Qed.

(* Signs make of points in general position such points, and signs of signs are signs. *)
Lemma general_flipped (I K : finType) (s : {ffun I -> bool}) (x : I -> K -> R) : general x -> general (flipped s x).
Proof.
move=> gen C y sC off z i; have : y i * sign (s i) = 0.
  apply: (gen C (fun i => y i * sign (s i))) => // [j /off ->|k]; first by ring.
  by rewrite -[RHS](z k); apply: sum_ext => j; rewrite /flipped; ring.
by case/Rmult_integral => //; case: (s i); rewrite /sign; lra.
Qed.
Lemma flipped_twice (I K : finType) (r s : {ffun I -> bool}) (x : I -> K -> R) :
  flipped r (flipped s x) = flipped [ffun i => r i == s i] x.
Proof.
apply: functional_extensionality => i; apply: functional_extensionality => k.
by rewrite /flipped ffunE; case: (r i); case: (s i); rewrite /sign /=; ring.
Qed.

Section Random.
Variables I K : finType.
Implicit Types (x : I -> K -> R) (f g : (I -> K -> R) -> R) (s : {ffun I -> bool}).
Implicit Types (M : ((I -> K -> R) -> R) -> Prop) (E : ((I -> K -> R) -> R) -> R).

Definition shared x : R := if holds (hemisphere x) then 1 else 0.
(* E is additive on a set M of functions of clouds; *)
Definition expectation M E := M (fun=> 0) /\
  forall f g, M f -> M g -> M (fun x => f x + g x) /\ E (fun x => f x + g x) = E f + E g.
(* it is c for those that are c on all clouds in general position; *)
Definition surely_general M E := forall f c, M f -> (forall x, general x -> f x = c) -> E f = c.
(* the signs of the points do not matter. *)
Definition symmetric M E := forall f s, M f -> M (fun x => f (flipped s x)) /\ E (fun x => f (flipped s x)) = E f.

(* Then points share an open hemisphere with the probability above, for every such E.
   Part of: cone.wendel, cone.vacuous. *)
Theorem hemisphere_probability M E : (0 < #|I|)%N -> expectation M E -> surely_general M E -> symmetric M E ->
  M shared -> E shared = probability #|I| #|K|.
Proof.
move=> n0 [M0 add] gen sym Mh.
have total (r : seq {ffun I -> bool}) : M (fun x => \big[Rplus/0]_(s <- r) shared (flipped s x)) /\
    E (fun x => \big[Rplus/0]_(s <- r) shared (flipped s x)) = \big[Rplus/0]_(s <- r) E shared.
  elim: r => [|s r [Mr Er]].
    have -> : (fun x => \big[Rplus/0]_(s <- [::]) shared (flipped s x)) = (fun=> 0).
      by apply: functional_extensionality => x; rewrite big_nil.
    by rewrite big_nil; split=> //; apply: gen.
  have -> : (fun x => \big[Rplus/0]_(t <- s :: r) shared (flipped t x)) =
      (fun x => shared (flipped s x) + \big[Rplus/0]_(t <- r) shared (flipped t x)).
    by apply: functional_extensionality => x; rewrite big_cons.
  have [Ms Es] := sym shared s Mh; have [Ma Ea] := add _ _ Ms Mr; split=> //.
  by rewrite Ea Es Er big_cons.
have [Mt Et] := total (index_enum _).
have : E (fun x => \sum_s shared (flipped s x)) = INR (wendel #|I| #|K|).
  by apply: gen => // x gx; rewrite /shared sum_count -(patterns_count n0 gx).
rewrite Et sum_const card_ffun card_bool INR_power /probability => <-.
by field; apply: pow_nonzero; lra.
Qed.

(* Random signs of points in general position are such a law. *)
Definition random_signs x f := (\sum_s f (flipped s x)) / 2 ^ #|I|.

Lemma random_signs_law x : general x -> expectation (fun=> True) (random_signs x) /\
  surely_general (fun=> True) (random_signs x) /\ symmetric (fun=> True) (random_signs x).
Proof.
move=> gen; have pos : 2 ^ #|I| <> 0 by apply: pow_nonzero; lra.
split; first by split=> // f g _ _; split=> //; rewrite /random_signs sumD; field.
split=> f c _ => [h|]; rewrite /random_signs.
  rewrite (sum_ext (g := fun=> c)) => [|s]; last by apply: h; apply: general_flipped.
  by rewrite sum_const card_ffun card_bool INR_power; field.
split=> //; congr (_ / _); pose m s : {ffun I -> bool} := [ffun i => c i == s i].
have mK : involutive m by move=> s; apply/ffunP => i; rewrite !ffunE; case: (c i); case: (s i).
by rewrite [RHS](reindex_inj (inv_inj mK)) /=; apply: sum_ext => s; rewrite flipped_twice.
Qed.
End Random.

(* Points in general position exist, as many as one likes in every dimension: their coordinates are powers. *)
Theorem powers_general (I : finType) d (t : I -> R) : injective t -> general (fun i (k : 'I_d) => t i ^ k).
Proof.
move=> inj C y sC off z j; case: (boolP (C j)) => [jC|]; last exact: off.
pose pr (L : seq I) i := \big[Rmult/1]_(a <- L) (t i - t a).
have poly L m : (m + size L < d)%N -> \sum_i (y i * (t i ^ m * pr L i)) = 0.
  elim: L m => [|a L ih] m md.
    move: md; rewrite addn0 => md; rewrite -[RHS](z (Ordinal md)); apply: sum_ext => i.
    by rewrite /pr big_nil /=; ring.
  have up : (m.+1 + size L < d)%N by rewrite addSnnS.
  have e := ih m.+1 up; have e' := ih m (ltnW up).
  have -> : \sum_i (y i * (t i ^ m * pr (a :: L) i)) =
      \sum_i (y i * (t i ^ m.+1 * pr L i)) - t a * \sum_i (y i * (t i ^ m * pr L i)).
    by rewrite -sumZ -sumB; apply: sum_ext => i; rewrite /pr big_cons /=; ring.
  by rewrite e e'; ring.
have uC : uniq (rem j (enum C)) by rewrite rem_uniq ?enum_uniq.
have sz : (0 + size (rem j (enum C)) < d)%N.
  have jE : j \in enum C by rewrite mem_enum.
  rewrite size_rem // -cardE; move: sC; rewrite card_ord; case: #|C| (cardD1 j C) => [|n _ //].
  by rewrite [j \in C]jC.
have := poly _ 0%N sz; rewrite (bigD1 j) //= big1 => [|i ne].
  rewrite Rplus_0_r Rmult_1_l => /Rmult_integral [//|]; move: uC => _.
  have : forall a, a \in rem j (enum C) -> t j - t a <> 0.
    move=> a; rewrite mem_rem_uniq ?enum_uniq // inE => /andP [ne _] e.
    by move: ne; rewrite (inj a j) ?eqxx //; lra.
  rewrite /pr; elim: (rem _ _) => [|a L ih] h; first by rewrite big_nil; lra.
  rewrite big_cons => /Rmult_integral [e|]; first by case: (h a); rewrite ?in_cons ?eqxx.
  by apply: ih => b bL; apply: h; rewrite in_cons bL orbT.
case: (boolP (C i)) => [iC|/off ->]; last by ring.
suff -> : pr (rem j (enum C)) i = 0 by ring.
have : i \in rem j (enum C) by rewrite mem_rem_uniq ?enum_uniq // inE ne (mem_enum C i : mem (enum C) i = _).
rewrite /pr; elim: (rem _ _) => [|a L ih] //; rewrite in_cons big_cons => /orP [/eqP ->|/ih ->]; ring.
Qed.

(* Twin: one point more than dimensions; two on the line.
   Twin of: probability_values. *)
Theorem not_probability_one : ~ forall n d, (0 < n <= d.+1)%N -> probability n d = 1.
Proof. by move=> /(_ 2%N 1%N isT); rewrite /probability wendel_regions INR_IZR_INZ /=; lra. Qed.

(* Twin: pairs that are independent do not suffice; three points in a plane of the space.
   Twin of: patterns_count. *)
Theorem not_patterns_plane : ~ forall (I K : finType) (x : I -> K -> R), (0 < #|I|)%N ->
  (forall i j a b, i != j -> (forall k, a * x i k + b * x j k = 0) -> a = 0 /\ b = 0) ->
  sign_patterns x = wendel #|I| #|K|.
Proof.
pose T := [finType of option bool].
pose x (i k : T) : R := match i, k with _, None => 0 | None, _ => 1 | Some b, Some c => if b == c then 1 else 0 end.
have n3 : #|T| = 3%N by rewrite card_option card_bool.
move=> h; have e : sign_patterns x = 8%N.
  rewrite h ?n3 ?wendel_regions // => i j a b ne z.
  by have := z (Some true); have := z (Some false); move: ne {z}; case: i => [[]|]; case: j => [[]|] //= _; lra.
have full : #|{: {ffun T -> bool}}| = 8%N by rewrite card_ffun card_bool n3.
have : [ffun i : T => isSome i] \in [set s : {ffun T -> bool} | holds (hemisphere (flipped s x))].
  by have /eqP -> : [set s : {ffun T -> bool} | holds (hemisphere (flipped s x))] == setT by
    rewrite eqEcard subsetT cardsT full -/(sign_patterns x) e.
rewrite inE => /holdsP [w hw]; have := hw None; have := hw (Some true); have := hw (Some false).
have s3 (f : T -> R) : \sum_k f k = f None + (f (Some true) + f (Some false)).
  by rewrite (bigD1 None) //= (bigD1 (Some true)) //= (bigD1 (Some false)) //= big1 => [|[[]|]] //; ring.
by rewrite /dot /flipped !s3 !ffunE /sign /x /=; lra.
Qed.

Definition line n (_ : 'I_n) (_ : 'I_1) : R := 1.
Lemma line_general n : general (@line n).
Proof.
have -> : @line n = fun i k => INR i ^ k.
  by apply: functional_extensionality => i; apply: functional_extensionality => k; rewrite (ord1 k).
by apply: powers_general => i j /INR_eq /ord_inj.
Qed.

(* Twin: the sum does not go up to d; two points on the line.
   Twin of: patterns_count. *)
Theorem not_patterns_dimension : ~ forall (I K : finType) (x : I -> K -> R), (0 < #|I|)%N -> general x ->
  sign_patterns x = wendel #|I| #|K|.+1.
Proof.
have gen := @line_general 2; move=> /(_ _ _ _ _ gen).
by rewrite (patterns_count _ gen) !card_ord // !wendel_regions => /(_ isT).
Qed.

(* Twin: a pattern and its opposite are two; one point.
   Twin of: patterns_count. *)
Theorem not_patterns_unpaired : ~ forall (I K : finType) (x : I -> K -> R), (0 < #|I|)%N -> general x ->
  (2 * sign_patterns x)%N = wendel #|I| #|K|.
Proof.
have gen := @line_general 1; move=> /(_ _ _ _ _ gen).
by rewrite (patterns_count _ gen) !card_ord // !wendel_regions => /(_ isT).
Qed.

(* Twin: no point has one pattern, not two.
   Twin of: patterns_count. *)
Theorem not_patterns_none : ~ forall (I K : finType) (x : I -> K -> R), general x ->
  sign_patterns x = wendel #|I| #|K|.
Proof.
move=> /(_ _ _ _ (@line_general 0)) e; have : (sign_patterns (@line 0) <= 1)%N.
  by apply: leq_trans (max_card _) _; rewrite card_ffun card_bool card_ord.
by rewrite e !card_ord /wendel big_ord_recl big_ord0 bin0.
Qed.

(* Twin: a point that is zero has no side.
   Twin of: cells_split. *)
Theorem not_cells_split : ~ forall (I K : finType) (x : I -> K -> R) A B a, a \notin A -> uniq (a :: B) ->
  (size B < #|K|)%N -> (2 * #|cells x (a :: A) B| = #|cells x A B| + #|cells x A (a :: B)|)%N.
Proof.
move=> /(_ _ _ (fun _ _ : 'I_1 => 0) [::] [::] ord0 isT isT); rewrite card_ord => /(_ isT).
have zero w : dot (fun _ : 'I_1 => 0) w = 0 by rewrite /dot big1 // => k _; ring.
have -> : cells (fun _ _ : 'I_1 => 0) [:: ord0] [::] = set0.
  by apply/setP => s; rewrite in_set0; apply/cellsP => [[w [/(_ ord0 isT)]]]; rewrite zero; lra.
have -> : cells (fun _ _ : 'I_1 => 0) [::] [::] = setT.
  by apply/setP => s; rewrite in_setT; apply/cellsP; exists (fun=> 0).
by rewrite cards0 cardsT card_ffun card_bool card_ord.
Qed.

(* Twin: a power that occurs twice.
   Twin of: powers_general. *)
Theorem not_powers_general : ~ forall (I : finType) d (t : I -> R), general (fun i (k : 'I_d) => t i ^ k).
Proof.
move=> /(_ [finType of bool] 2%N (fun=> 0) xpredT (fun b => if b then 1 else -1)); rewrite card_bool card_ord.
move=> /(_ isT (fun b => ltac:(by [])) (fun k => ltac:(by rewrite big_bool /=; ring)) true); lra.
Qed.

(* Twin: a law that favours one side; two points on the line that are one.
   Twin of: hemisphere_probability. *)
Theorem not_probability_shifted : ~ forall (I K : finType) M E, (0 < #|I|)%N -> @expectation I K M E ->
  surely_general M E -> M (@shared I K) -> E (@shared I K) = probability #|I| #|K|.
Proof.
move=> /(_ _ _ (fun=> True) (fun f => f (@line 2))).
rewrite !card_ord /probability wendel_regions INR_IZR_INZ /shared => /(_ isT); case: holdsP => [_|[]].
  by move=> h; have : 1 = 2 / (2 * (2 * 1)) by [apply: h => // f c _; apply; exact: line_general]; lra.
by exists (fun=> 1) => i; rewrite /dot big_ord_recl big_ord0 /line; lra.
Qed.

(* Twin: a law that charges hyperplanes; a point that is zero.
   Twin of: hemisphere_probability. *)
Theorem not_probability_charged : ~ forall (I K : finType) M E, (0 < #|I|)%N -> @expectation I K M E ->
  (forall c, E (fun=> c) = c) -> symmetric M E -> M (@shared I K) -> E (@shared I K) = probability #|I| #|K|.
Proof.
move=> /(_ _ _ (fun=> True) (fun f => f (fun _ _ : 'I_1 => 0))).
rewrite !card_ord /probability wendel_regions INR_IZR_INZ /shared => /(_ isT); case: holdsP => [[w /(_ ord0)]|_ h].
  by rewrite /dot big1 => [|k _]; [lra | ring].
suff : 0 = 2 / (2 * 1) by lra.
apply: h => // f s _; split=> //; congr f; apply: functional_extensionality => i; apply: functional_extensionality => k.
by rewrite /flipped; ring.
Qed.

(* Twin: the power is not n; one point.
   Twin of: hemisphere_probability. *)
Theorem not_probability_unpaired : ~ forall (I K : finType) M E, (0 < #|I|)%N -> @expectation I K M E ->
  surely_general M E -> symmetric M E -> M (@shared I K) -> 2 * E (@shared I K) = probability #|I| #|K|.
Proof.
have [e [g s]] := random_signs_law (@line_general 1).
have p : probability #|'I_1| #|'I_1| = 1 by rewrite !card_ord; apply: (proj1 probability_values).
have n0 : (0 < #|'I_1|)%N by rewrite card_ord.
by move=> /(_ _ _ _ _ n0 e g s I); rewrite (hemisphere_probability n0 e g s) // p; lra.
Qed.
