(* The discrete circle: n + 1 uniform tokens on a circle and scores that depend on their angle are a circulant matrix,
   and a layer multiplies every wave by a number.

   Reader's checklist: [angle m] is 2 pi m / (n + 1); scores are g(cos of the angle between two tokens), which has dot
   products, g(c) = c / eps, and Gaussian weights of the chord, g(c) = - (2 - 2c) / (2 eps), by [chord]; [turned i m] is
   i + m modulo n + 1; a wave has an integer frequency q and any phase, so that sines are meant, too. The claim has the
   limit of many tokens, where these sums become integrals of Bessel functions, and the sphere. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat div fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Softmax.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Section Circle.
Variable n : nat.
Local Notation N := (n.+1).
Implicit Types (i j m : 'I_N) (g : R -> R) (q : nat).

Definition angle m := 2 * PI * INR m / INR N.
Definition turned i m : 'I_N := Ordinal (ltn_pmod (addn i m) (ltn0Sn n)).
Definition mirrored m : 'I_N := Ordinal (ltn_pmod (subn N m) (ltn0Sn n)).

Lemma N0 : INR N <> 0. Proof. exact: not_0_INR. Qed.

(* Angles of remainders differ by whole turns. *)
Lemma angle_mod (k : nat) : exists l : nat, 2 * PI * INR k / INR N = 2 * PI * INR (modn k N) / INR N + 2 * INR l * PI.
Proof.
exists (divn k N); rewrite {1}(divn_eq k N) plus_INR mult_INR.
by field; exact: N0.
Qed.

Lemma turned_inj i : injective (turned i).
Proof.
move=> m m' /(congr1 val) /= /eqP; rewrite eqn_modDl !modn_small ?ltn_ord // => /eqP e.
exact: val_inj.
Qed.

Lemma mirrored_inj : injective mirrored.
Proof.
apply: (can_inj (g := mirrored)) => m; apply: val_inj => /=.
case: (posnP m) => [z|p]; first by rewrite z subn0 modnn subn0 modnn.
rewrite (modn_small (m := subn N m)); last by rewrite ltn_subrL p.
by rewrite subKn ?modn_small // ltnW.
Qed.

(* Waves and scores on turned tokens. *)
Lemma turned_wave i m q x : cos (INR q * angle (turned i m) + x) = cos (INR q * (angle i + angle m) + x).
Proof.
case: (angle_mod (addn i m)) => l e.
have -> : INR q * (angle i + angle m) + x = (INR q * angle (turned i m) + x) + 2 * INR (muln q l) * PI.
  have -> : angle i + angle m = 2 * PI * INR (addn i m) / INR N by rewrite plus_INR /angle; field; exact: N0.
  by rewrite e mult_INR /angle /=; ring.
by rewrite cos_period.
Qed.

Lemma turned_score i m : cos (angle (turned i m) - angle i) = cos (angle m).
Proof.
have -> : angle (turned i m) - angle i = INR 1 * angle (turned i m) + - angle i by rewrite /=; ring.
by rewrite turned_wave; congr cos; rewrite /=; ring.
Qed.

Lemma mirrored_angle m : cos (angle (mirrored m)) = cos (angle m) /\
  forall q, sin (INR q * angle (mirrored m)) = - sin (INR q * angle m).
Proof.
case: (angle_mod (subn N m)) => l e.
have a : angle (mirrored m) + 2 * INR l * PI = 2 * INR 1 * PI - angle m.
  rewrite -[angle (mirrored m)]/(2 * PI * INR (modn (subn N m) N) / INR N) -e /angle minus_INR; last first.
    by apply/leP; apply: ltnW.
  by rewrite [INR 1]/=; field; exact: N0.
split=> [|q].
  by rewrite -(cos_period _ l) a -(cos_neg (angle m)) -(cos_period (- angle m) 1); congr cos; ring.
rewrite -(sin_period _ (muln q l)) -sin_neg -(sin_period (- (INR q * angle m)) q); congr sin.
rewrite mult_INR; have -> : INR q * angle (mirrored m) + 2 * (INR q * INR l) * PI =
  INR q * (angle (mirrored m) + 2 * INR l * PI) by ring.
by rewrite a [INR 1]/=; ring.
Qed.

(* Every row is the first, turned.
   Part of: metric.multipliers.
   No twin: an identity of indices. *)
Theorem circulant g i m : softmax (fun j => g (cos (angle j - angle i))) (turned i m) =
  softmax (fun j => g (cos (angle j))) m.
Proof.
rewrite /softmax turned_score; congr (_ / _).
rewrite /normaliser (reindex_inj (@turned_inj i)); apply: sum_ext => j; by rewrite turned_score.
Qed.

(* Waves are multiplied, by this number of size at most one.
   Part of: metric.multipliers. *)
Theorem multipliers g q x i : let row := softmax (fun m => g (cos (angle m))) in
  let multiplier := mean row (fun m => cos (INR q * angle m)) in
  mean (softmax (fun j => g (cos (angle j - angle i)))) (fun j => cos (INR q * angle j + x)) =
    multiplier * cos (INR q * angle i + x) /\ Rabs multiplier <= 1 /\ (q = O -> multiplier = 1).
Proof.
move=> row multiplier; have point : inhabited [finType of 'I_N] by constructor; exact: ord0.
have hp : law row := softmax_law point _.
have odd : mean row (fun m => sin (INR q * angle m)) = 0.
  have : mean row (fun m => sin (INR q * angle m)) = - mean row (fun m => sin (INR q * angle m)).
    have -> : - mean row (fun m => sin (INR q * angle m)) = -1 * mean row (fun m => sin (INR q * angle m)) by ring.
    rewrite -meanZ {1}/mean (reindex_inj mirrored_inj) /=; apply: sum_ext => m.
    by rewrite /row /softmax (proj1 (mirrored_angle m)) (proj2 (mirrored_angle m)); ring.
  by lra.
split; last split.
- rewrite {1}/mean (reindex_inj (@turned_inj i)) /=.
  have -> : multiplier * cos (INR q * angle i + x) =
      \sum_m (row m * (cos (INR q * angle i + x) * cos (INR q * angle m) -
        sin (INR q * angle i + x) * sin (INR q * angle m))).
    have -> : multiplier * cos (INR q * angle i + x) = cos (INR q * angle i + x) * multiplier +
      - sin (INR q * angle i + x) * mean row (fun m => sin (INR q * angle m)) by rewrite odd; ring.
    by rewrite /multiplier -!meanZ -meanD; apply: mean_ext => m; ring.
  apply: sum_ext => m; rewrite circulant turned_wave -/(row m) -cos_plus; congr (_ * cos _); ring.
- apply: Rabs_le; split.
    rewrite -[X in X <= _](mean_const _ hp); apply: mean_le => // m; case: (COS_bound (INR q * angle m)) => //.
  rewrite -[X in _ <= X](mean_const _ hp); apply: mean_le => // m; case: (COS_bound (INR q * angle m)) => //.
by move=> z; rewrite /multiplier z -[RHS](mean_const _ hp); apply: mean_ext => m; rewrite Rmult_0_l cos_0.
Qed.
End Circle.

(* The chord between two points of the unit circle: Gaussian weights are those of its angle. *)
Lemma chord_angle a b : (cos a - cos b) ^ 2 + (sin a - sin b) ^ 2 = 2 - 2 * cos (a - b).
Proof. by rewrite cos_minus; have := sin2_cos2 a; have := sin2_cos2 b; rewrite /Rsqr; lra. Qed.

(* Twin: half a frequency is no wave of the circle; two tokens, and no scores.
   Twin of: multipliers. *)
Theorem not_half_frequency : ~ forall n (g : R -> R) q, exists multiplier, forall i : 'I_n.+1,
  mean (softmax (fun j : 'I_n.+1 => g (cos (angle j - angle i)))) (fun j => cos (q * angle j)) =
    multiplier * cos (q * angle i).
Proof.
move=> h; case: (h 1%N (fun=> 0) (/ 2)) => l e.
have a0 : / 2 * angle (ord0 : 'I_2) = 0 by rewrite /angle /=; field.
have a1 : / 2 * angle (lift ord0 ord0 : 'I_2) = PI / 2 by rewrite /angle /=; field.
have := e (lift ord0 ord0).
rewrite /mean /softmax /normaliser !big_ord_recl !big_ord0 a0 a1 exp_0 cos_0 cos_PI2 /=; lra.
Qed.
