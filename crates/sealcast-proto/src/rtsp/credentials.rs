//! User names and passwords.

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// A user name and password. They cannot be printed, and the password is wiped when dropped.
#[derive(Clone)]
pub struct Credentials {
    pub(super) user: String,
    pub(super) password: Zeroizing<String>,
}

impl Credentials {
    /// Credentials with this user name and password.
    pub fn new(user: impl Into<String>, password: impl Into<Zeroizing<String>>) -> Self {
        Self {
            user: user.into(),
            password: password.into(),
        }
    }

    /// True unless the user name is empty.
    pub fn has_user(&self) -> bool {
        !self.user.is_empty()
    }

    /// These credentials, with this password if they have none.
    #[must_use]
    pub fn or_password(mut self, password: impl Into<Zeroizing<String>>) -> Self {
        if self.password.is_empty() {
            self.password = password.into();
        }
        self
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        let password = self.password.as_bytes().ct_eq(other.password.as_bytes());
        self.user == other.user && bool::from(password)
    }
}

impl Eq for Credentials {}
