(* The constant e^(2a) (1 + 2a) is the least: for every smaller c there are two laws of two atoms on the line that
   refute it.

   Reader's checklist: the witness is that of the claim lipschitz.joint-witness; the claim also gives the factor
   1 - 2 eps E that two atoms reach, which is not here. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype fintype bigop.
From Coq Require Import Reals Lra Psatz.
From Attention Require Import Finite Euclid Tilt Transport SharpW1 Sharp.
Set Implicit Arguments.
Unset Strict Implicit.
Open Scope R_scope.

Lemma sum_unit (f : unit -> R) : \sum_k f k = f tt.
Proof. by rewrite (big_pred1 tt) //; case. Qed.

Lemma sum_bool (f : bool -> R) : \sum_b f b = f true + f false.
Proof. by rewrite big_bool. Qed.

Lemma norm_unit (u : unit -> R) : norm u = Rabs (u tt).
Proof. by rewrite /norm /dot sum_unit; exact: sqrt_Rsqr_abs. Qed.

Section Witness.
Variables a eps h : R.
Hypothesis a0 : 0 <= a.
Hypothesis he : 0 < eps < 1.
Hypothesis hh : 0 < h < 1.

Definition line (_ _ : unit) := - a.
Definition masses (b : bool) := if b then 1 - eps else eps.
Definition places (s : R) (b : bool) (_ : unit) := if b then 1 else -1 + s.

Lemma masses_law : law masses.
Proof. by split=> [[]|]; rewrite ?big_bool /=; lra. Qed.

Lemma line_norm u : norm (T line u) <= a * norm u.
Proof. by rewrite !norm_unit /T sum_unit /line Rabs_mult Rabs_Ropp Rabs_pos_eq //; lra. Qed.

Lemma output_line s x : output line masses (places s) (fun=> x) tt = out a eps x s.
Proof.
have f b : form line (fun=> x) (places s b) = - a * x * places s b tt by rewrite /form /dot /T !sum_unit /line; ring.
have lp : 0 < heavy a eps x by apply: Rmult_lt_0_compat; [lra | apply: exp_pos].
have lq : 0 < light a eps x s by apply: Rmult_lt_0_compat; [lra | apply: exp_pos].
rewrite /output /centre /seen /mean sum_bool /tilt /density /mass /mean sum_bool !f /places /masses /out.
have -> : exp (- a * x * 1) = exp (- a * x) by congr exp; ring.
by move: lp lq; rewrite /heavy /light => lp lq; field; lra.
Qed.

Lemma total_line s : mean masses (fun b => output line masses (places s) (places s b) tt) = total a eps s.
Proof.
by rewrite /mean sum_bool /total -!output_line.
Qed.

Lemma identity_coupling : coupling masses masses (fun b d => if d == b then masses b else 0).
Proof.
split; [|split] => [b d|b|d].
- by case: eqP => _; [apply: (proj1 masses_law) | lra].
- by rewrite -big_mkcond big_pred1_eq.
by rewrite -big_mkcond (big_pred1 d) // => b; rewrite eq_sym.
Qed.

Lemma before_le w : W1 (fun b d => norm (minus (places 0 b) (places h d))) masses masses w -> w <= eps * h.
Proof.
case=> lower _; apply: (Rle_trans _ _ _ (lower _ identity_coupling)); right.
rewrite /cost !sum_bool /= !norm_unit /minus /places.
have -> : 1 - 1 = 0 by ring.
have -> : -1 + 0 - (-1 + h) = - h by ring.
by rewrite Rabs_R0 Rabs_Ropp (Rabs_pos_eq h); [ring | lra].
Qed.

Lemma after_ge w : W1 (fun b d => norm (minus (output line masses (places 0) (places 0 b))
  (output line masses (places h) (places h d))))
  masses masses w -> total a eps h - total a eps 0 <= w.
Proof.
case=> _ greatest; rewrite -!total_line.
set F := fun b => output line masses (places 0) (places 0 b);
  set G := fun d => output line masses (places h) (places h d).
have -> : mean masses (fun b => G b tt) - mean masses (fun b => F b tt) =
    dual masses masses (fun b => - F b tt) (fun d => G d tt).
  rewrite /dual; have -> : mean masses (fun b => - F b tt) = -1 * mean masses (fun b => F b tt).
    by rewrite -meanZ; apply: mean_ext => b; ring.
  by ring.
apply: greatest => g hg; apply: weak_duality => // b d.
rewrite norm_unit /minus -/(F b) -/(G d) Rabs_minus_sym; have := Rle_abs (G d tt - F b tt); lra.
Qed.
End Witness.

(* Part of: lipschitz.sharp-w1, lipschitz.joint-witness. *)
Theorem attention_W1_least (a c : R) : 0 <= a -> c < exp (2 * a) * (1 + 2 * a) ->
  exists (K I J : finType) (B : K -> K -> R) (p : I -> R) (q : J -> R) (x : I -> K -> R) (y : J -> K -> R) before after,
    (forall u, norm (T B u) <= a * norm u) /\ law p /\ law q /\ (forall i, norm (x i) <= 1) /\
      (forall j, norm (y j) <= 1) /\
    W1 (fun i j => norm (minus (x i) (y j))) p q before /\
    W1 (fun i j => norm (minus (output B p x (x i)) (output B q y (y j)))) p q after /\
    c * before < after.
Proof.
move=> a0 hc; have pE : 0 < exp (2 * a) * (1 + 2 * a) by apply: Rmult_lt_0_compat; [apply: exp_pos | lra].
have hc' : Rmax c 0 < exp (2 * a) * (1 + 2 * a) by apply: Rmax_lub_lt.
case: (no_less a (Rmax c 0) a0 hc') => eps [h [he [hh gap]]].
have lw := masses_law he.
case: (W1_exists (C := fun b d => norm (minus (places 0 b) (places h d))) lw lw) => [b d|before hb];
  first exact: norm_ge0.
case: (W1_exists (C := fun b d => norm (minus (output (line a) (masses eps) (places 0) (places 0 b))
  (output (line a) (masses eps) (places h) (places h d)))) lw lw) => [b d|after hf]; first exact: norm_ge0.
exists [finType of unit], [finType of bool], [finType of bool], (line a), (masses eps), (masses eps), (places 0),
  (places h), before, after.
do 5! (split; first by try exact: line_norm; try exact: lw; case; rewrite norm_unit /places; apply: Rabs_le; lra).
split=> //; split=> //.
have l1 := before_le he hh hb; have l2 := after_ge he hf.
have b0 : 0 <= before.
  by apply: (proj2 hb) => g hg; apply: sum_ge0 => b; apply: sum_ge0 => d; apply: Rmult_le_pos;
    [apply: (proj1 hg) | apply: norm_ge0].
have m0 := Rmax_r c 0; have m1 := Rmax_l c 0.
apply: (Rle_lt_trans _ (Rmax c 0 * before)); first exact: Rmult_le_compat_r.
apply: (Rle_lt_trans _ (Rmax c 0 * (eps * h))); first exact: Rmult_le_compat_l.
by lra.
Qed.
