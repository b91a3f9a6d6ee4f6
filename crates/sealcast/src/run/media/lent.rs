//! A future that its task lends to whoever has work for it.
//!
//! Work for another task usually wakes it: on another thread, with a system call here and one there. Who has the work
//! can [run](Loan::run) the task's future itself instead. The future is the same, and does the same, whoever runs it;
//! it may [wait](Lender::own_turn) for its own task before what only that should do.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Wakes the future's task, unless the future is lent.
#[derive(Default)]
struct Signal {
    task: AtomicWaker,
    /// [`AT_HOME`], [`LENT`] or [`AWAITED`].
    state: AtomicU8,
    /// True while who it is lent to runs it.
    visits: AtomicBool,
}

/// Waking it wakes its task.
const AT_HOME: u8 = 0;
/// It is lent. Nothing has woken it since.
const LENT: u8 = 1;
/// It is lent, and was woken since: its task is woken when it is given back, unless it was run since.
const AWAITED: u8 = 2;

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Whoever gives it back after this looks for AWAITED, and if that was before, its task is woken here.
        let awaited = |state| (state != AT_HOME).then_some(AWAITED);
        let lent = self.state.try_update(Ordering::AcqRel, Ordering::Acquire, awaited);
        if lent.is_err() {
            self.task.wake();
        }
    }
}

enum State<F: Future> {
    Running(Pin<Box<F>>),
    /// It ended, or panicked, and its task has not taken that yet.
    Ended(Result<F::Output, Box<dyn Any + Send>>),
    Taken,
}

struct Shared<F: Future> {
    signal: Arc<Signal>,
    waker: Waker,
    state: Mutex<State<F>>,
}

impl<F: Future> Shared<F> {
    /// Polls the future, unless it has ended. Returns true once it has.
    fn poll(&self, state: &mut MutexGuard<'_, State<F>>) -> bool {
        let State::Running(future) = &mut **state else {
            return true;
        };
        let mut context = Context::from_waker(&self.waker);
        // A panic is its own task's, whoever runs it.
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        let ended = match polled {
            Ok(Poll::Pending) => return false,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        **state = State::Ended(ended);
        true
    }
}

/// Lends a future, whatever its type.
trait Lends: Send + Sync {
    fn signal(&self) -> &Arc<Signal>;

    /// Runs the future for who it is lent to.
    fn visit(&self);
}

impl<F: Future<Output: Send> + Send> Lends for Shared<F> {
    fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    fn visit(&self) {
        // Its task runs it now: that is woken again afterwards.
        let Ok(mut state) = self.state.try_lock() else { return };
        // It sees everything that happened before.
        if self.signal.state.swap(LENT, Ordering::AcqRel) != AWAITED {
            return;
        }
        self.signal.visits.store(true, Ordering::Relaxed);
        let ended = self.poll(&mut state);
        self.signal.visits.store(false, Ordering::Relaxed);
        drop(state);
        if ended {
            self.signal.task.wake();
        }
    }
}

/// A future that is lent by its task, which polls this.
pub(crate) struct LentFuture<F: Future>(Arc<Shared<F>>);

impl<F: Future<Output: Send> + Send + 'static> LentFuture<F> {
    /// The future that `make` makes, which is given what lends it.
    pub(crate) fn new(make: impl FnOnce(Lender) -> F) -> Self {
        Self(Arc::new_cyclic(|shared: &Weak<Shared<F>>| {
            let signal = Arc::<Signal>::default();
            Shared {
                waker: Waker::from(Arc::clone(&signal)),
                signal: Arc::clone(&signal),
                state: Mutex::new(State::Running(Box::pin(make(Lender {
                    shared: Weak::<Shared<F>>::clone(shared),
                    signal,
                })))),
            }
        }))
    }
}

impl<F: Future> Future for LentFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.0.signal.task.register(context.waker());
        // Nothing but the future panics under this lock, and that is caught.
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.poll(&mut state) {
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, State::Taken) {
            State::Ended(Ok(output)) => Poll::Ready(output),
            State::Ended(Err(panic)) => {
                drop(state);
                resume_unwind(panic)
            }
            // It has returned its output before.
            State::Running(_) | State::Taken => Poll::Pending,
        }
    }
}

/// Lends a future as long as its task lives.
#[derive(Clone)]
pub(crate) struct Lender {
    shared: Weak<dyn Lends>,
    signal: Arc<Signal>,
}

impl Lender {
    /// Borrows the future, to give it work and then [run](Loan::run) it. `None` if somebody else has borrowed it, or it
    /// is no more: its task is then woken as usual.
    pub(crate) fn lend(&self) -> Option<Loan> {
        let shared = self.shared.upgrade()?;
        let state = &shared.signal().state;
        let lent = state.compare_exchange(AT_HOME, LENT, Ordering::AcqRel, Ordering::Acquire);
        lent.is_ok().then(|| Loan(shared))
    }

    /// Waits, in the future, until its own task runs it. Cancel-safe.
    pub(crate) async fn own_turn(&self) {
        std::future::poll_fn(|context| {
            if self.signal.visits.load(Ordering::Relaxed) {
                // It is awaited when it is given back.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
}

/// A borrowed future. What wakes it meanwhile wakes its task when this is dropped, if it was not run since.
pub(crate) struct Loan(Arc<dyn Lends>);

impl Loan {
    /// Runs the future if something has woken it since it was lent, and gives it back.
    pub(crate) fn run(self) {
        self.0.visit();
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let signal = self.0.signal();
        if signal.state.swap(AT_HOME, Ordering::AcqRel) == AWAITED {
            signal.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use tokio::sync::{Notify, mpsc};
    use tokio::task::yield_now;

    use super::*;

    /// A future that counts what it is notified of, each time on the thread that runs it.
    struct Counting {
        work: Arc<Notify>,
        done: Arc<Mutex<Vec<thread::ThreadId>>>,
        lender: Lender,
        future: Pin<Box<dyn Future<Output = usize> + Send>>,
    }

    fn counting(most: usize) -> Counting {
        let (work, done) = (Arc::new(Notify::new()), Arc::<Mutex<Vec<_>>>::default());
        let mut lender = None;
        let future = LentFuture::new(|lent| {
            lender = Some(lent);
            let (work, done) = (Arc::clone(&work), Arc::clone(&done));
            async move {
                loop {
                    work.notified().await;
                    let mut done = done.lock().expect("nobody panics");
                    done.push(thread::current().id());
                    if done.len() == most {
                        return most;
                    }
                }
            }
        });
        Counting {
            work,
            done,
            lender: lender.expect("it was made"),
            future: Box::pin(future),
        }
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Counting {
        fn poll(&mut self, woken: &Arc<Woken>) -> Poll<usize> {
            let waker = Waker::from(Arc::clone(woken));
            self.future.as_mut().poll(&mut Context::from_waker(&waker))
        }

        fn done(&self) -> usize {
            self.done.lock().expect("nobody panics").len()
        }
    }

    fn times(woken: &Woken) -> usize {
        woken.0.swap(0, Ordering::Relaxed)
    }

    #[test]
    fn who_borrows_it_does_the_work_and_its_task_sleeps_on() {
        let (mut counting, woken) = (counting(9), Arc::<Woken>::default());
        assert!(counting.poll(&woken).is_pending());
        for done in 1..=3 {
            let loan = counting.lender.lend().expect("it is at home");
            assert!(counting.lender.lend().is_none(), "to one at a time");
            counting.work.notify_one();
            assert_eq!(counting.done(), done - 1);
            loan.run();
            assert_eq!((counting.done(), times(&woken)), (done, 0));
        }
        counting.work.notify_one();
        assert_eq!(times(&woken), 1, "without a loan its task is woken");
    }

    #[test]
    fn what_wakes_it_and_is_not_run_wakes_its_task_when_it_is_given_back() {
        let (mut counting, woken) = (counting(9), Arc::<Woken>::default());
        assert!(counting.poll(&woken).is_pending());
        let loan = counting.lender.lend().expect("it is at home");
        counting.work.notify_one();
        assert_eq!(times(&woken), 0);
        drop(loan);
        assert_eq!((times(&woken), counting.done()), (1, 0));
        assert!(counting.poll(&woken).is_pending());
        assert_eq!(counting.done(), 1);
        drop(counting.lender.lend().expect("it is at home"));
        assert_eq!(times(&woken), 0, "nothing woke it");
    }

    #[test]
    fn an_end_that_comes_while_it_is_lent_is_its_tasks() {
        let (mut counting, woken) = (counting(1), Arc::<Woken>::default());
        assert!(counting.poll(&woken).is_pending());
        let loan = counting.lender.lend().expect("it is at home");
        counting.work.notify_one();
        loan.run();
        assert_eq!(times(&woken), 1);
        assert_eq!(counting.poll(&woken), Poll::Ready(1));
        let Counting { lender, future, .. } = counting;
        drop(future);
        assert!(lender.lend().is_none(), "it is no more");
    }

    #[test]
    fn a_panic_is_that_of_its_own_task() {
        let work = Arc::new(Notify::new());
        let mut lender = None;
        let future = LentFuture::new(|lent| {
            lender = Some(lent);
            let work = Arc::clone(&work);
            async move {
                work.notified().await;
                assert!(!Arc::ptr_eq(&work, &work), "it panics");
            }
        });
        let mut future = Box::pin(future);
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        let loan = lender.expect("it was made").lend().expect("it is at home");
        work.notify_one();
        loan.run();
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context).is_ready()));
        assert!(polled.is_err());
    }

    #[test]
    fn what_is_for_its_own_task_waits_for_that() {
        let (work, done) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let mut lender = None;
        let future = LentFuture::new(|lent| {
            lender = Some(lent.clone());
            let (work, done) = (Arc::clone(&work), Arc::clone(&done));
            async move {
                loop {
                    work.notified().await;
                    lent.own_turn().await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let (mut future, woken): (_, Arc<Woken>) = (Box::pin(future), Arc::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut poll = || {
            let pending: Poll<()> = future.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(pending.is_pending());
        };
        poll();
        let loan = lender.expect("it was made").lend().expect("it is at home");
        work.notify_one();
        loan.run();
        assert_eq!((done.load(Ordering::Relaxed), times(&woken)), (0, 1));
        poll();
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_work_is_lost_or_done_twice_whoever_runs_it() {
        const WORK: usize = 20_000;
        let (sent, mut comes) = mpsc::unbounded_channel();
        let mut lender = None;
        let task = tokio::spawn(LentFuture::new(|lent| {
            lender = Some(lent);
            async move {
                let mut taken = Vec::new();
                while let Some(work) = comes.recv().await {
                    taken.push(work);
                }
                taken
            }
        }));
        let lender = lender.expect("it was made");
        for work in 0..WORK {
            let loan = lender.lend();
            sent.send(work).expect("it runs");
            if let Some(loan) = loan.filter(|_| !work.is_multiple_of(7)) {
                loan.run();
            }
            if work.is_multiple_of(64) {
                yield_now().await;
            }
        }
        drop(sent);
        let taken = task.await.expect("it ends");
        assert!(taken.into_iter().eq(0..WORK));
    }
}
